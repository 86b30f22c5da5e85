"""`explain` on the command line: models of every kind, one target for all, and refusals of one line."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from pipeline.views.explanation import models_of
from tests.keras_bert.explain.family_tasks import family_task
from tests.keras_bert.interop.checkpoints import PIECES
from tests.pipeline.command_line import refused, said

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
import keras_bert
from keras_bert.explain import attributions
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.tokenizer import Tokenizer
from tests.model_files import write_file

TEXT = "abc d ef"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model `saved`, its files in `pushed`, and the same for transformers in `foreign`."""
    folder, task = tmp_path_factory.mktemp("models"), family_task("bert", Tokenizer(PIECES, True))
    task.save(folder / "saved")
    (folder / "pushed").mkdir()
    task.save_settings(folder / "pushed")
    for name in ("model.onnx", "model.tflite"):
        write_file(task, folder / "pushed" / name, [task.max_length])
    keras_bert.to_hugging_face(task, folder / "foreign")
    return folder


def explain(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    return said(capfd, "explain", *arguments)


def test_a_saved_model_by_its_gradients(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = json.loads(explain(capfd, folder / "saved", TEXT, "--json", "--steps", 8))
    (model,) = content["models"]
    task = keras_bert.load(folder / "saved")
    expected = attributions(task, TEXT, steps=8)
    assert content["texts"] == [TEXT]
    assert (model["target"], model["method"]) == (task.predict([TEXT])[0].label, "integrated_gradients")
    assert [word["word"] for word in model["words"]] == ["abc", "d", "ef"]
    np.testing.assert_allclose([word["share"] for word in model["words"]], expected.by_word(), rtol=1e-5)
    assert model["score"] - model["baseline_score"] == pytest.approx(
        sum(token["share"] for token in model["tokens"]), rel=0.05
    )
    assert model["tokens"][1] == {"token": "a", "text": 0, "start": 0, "end": 1, "share": model["tokens"][1]["share"]}
    weights = np.array(model["attention"]["weights"])
    assert weights.shape[2:] == (len(model["tokens"]), len(model["tokens"]))
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-4)


def test_files_beside_their_model_explain_one_answer(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = json.loads(explain(capfd, folder / "saved", TEXT, "--beside", folder / "pushed", "--json"))
    names = [Path(model["model"]).name for model in content["models"]]
    assert names == ["saved", "model.onnx", "model.tflite"]
    assert len({model["target"] for model in content["models"]}) == 1
    assert {model["method"] for model in content["models"]} == {"occlusion"}
    shares = [[word["share"] for word in model["words"]] for model in content["models"]]
    np.testing.assert_allclose(shares[1:], [shares[0]] * 2, atol=1e-4)
    assert ["attention" in model for model in content["models"]] == [True, False, False]


def test_a_table_of_the_words(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    printed = explain(capfd, folder / "pushed", TEXT, "--target", "mid")
    assert [line.split("│")[1].strip() for line in printed.splitlines() if line.startswith("│")] == [
        "abc",
        "d",
        "ef",
        "score of mid",
    ]
    assert "model.onnx" in printed
    assert "model.tflite" in printed
    assert "the score falls by so much if the word is masked" in printed


def test_a_folder_of_transformers_and_a_pair(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = json.loads(explain(capfd, folder / "foreign", TEXT, "g a", "--json", "--steps", 4))
    assert content["texts"] == [TEXT, "g a"]
    assert [word["word"] for word in content["models"][0]["words"]] == ["abc", "d", "ef", "g", "a"]


def test_text_that_is_not_read_is_named(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    printed = explain(capfd, folder / "pushed", "a " * 100)
    assert "tokens were cut" in printed


def test_the_trained_model_of_a_root_has_a_name(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trained = tmp_path / "artifacts" / "quantize" / "quantized-21df275a9611"
    shutil.copytree(folder / "saved", trained)
    printed = explain(capfd, trained, TEXT, "--beside", folder / "pushed" / "model.onnx")
    assert "trained model" in printed.splitlines()[1]
    assert "21df275a9611" not in printed
    shutil.copytree(trained, tmp_path / "artifacts" / "distill" / "student-21df275a9612")
    printed = explain(capfd, trained, TEXT, "--beside", tmp_path / "artifacts" / "distill" / "student-21df275a9612")
    # A heading may have several lines.
    heading = "".join(printed.partition("┡")[0].split())
    assert "quantize/" in heading
    assert "distill/" in heading


def test_an_embedding_has_no_target_but_the_second_text(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    task = keras_bert.load(folder / "saved")
    Embedding.build(task.encoder, task.tokenizer, max_length=task.max_length).save(tmp_path / "vectors")
    error = refused(capfd, "explain", tmp_path / "vectors", TEXT, "g a", "--target", "mid")
    assert "--target must be left out for embedding, which compares TEXT with SECOND, got 'mid'" in error
    content = json.loads(explain(capfd, tmp_path / "vectors", TEXT, "g a", "--json", "--steps", 4))
    assert content["models"][0]["target"] == "cosine with 'g a'"


def test_models_of_a_place(folder: Path) -> None:
    assert models_of(folder / "pushed") == [folder / "pushed" / "model.onnx", folder / "pushed" / "model.tflite"]
    assert models_of(folder / "saved") == [folder / "saved"]
    assert models_of(folder / "pushed" / "model.onnx") == [folder / "pushed" / "model.onnx"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["saved", TEXT, "--target", "hihg"],
            "got 'hihg'; the nearest is 'high'",
        ),
        (["pushed", TEXT, "--method", "input_x_gradient"], "an exported file can be explained with method='occlusion'"),
        (["nowhere", TEXT], "MODEL must be a file or a folder that exists, got"),
        (["saved", " "], "TEXT must hold a word that the model reads, got ' '"),
        (["saved", TEXT, "--steps", "0"], "steps must be a whole number from 1 to 10000, got 0"),
        (["saved"], "TEXT must follow MODEL, got none"),
        (["job.toml", TEXT], f"TEXT must be left out for a job, got '{TEXT}'"),
        (["saved", TEXT, "--out", "nowhere/a/page.html"], "--out must be in a folder that exists, got"),
        ([".", TEXT], "is not a saved task: it has no model.keras"),
    ],
)
def test_refused_in_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    place, *others = arguments
    assert message in refused(capfd, "explain", folder / place, *others)
