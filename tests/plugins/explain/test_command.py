"""`explain` on the command line: models of every kind beside one another, one target for all, and refusals."""

import json
import pkgutil
import shutil
from pathlib import Path

import numpy as np
import pytest

import plugins.explain
from plugins.explain.json_text import write_json
from plugins.explain.model_reasons import explain_text, models_of
from tests.keras_bert.family_tasks import family_task
from tests.keras_bert.interop.checkpoints import GOLDEN, PIECES
from tests.pipeline.command_line import refused, said
from tests.plugins.explain.test_agreement import OTHER_PIECES, other_student, random_task

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
import keras_bert
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.tokenizer import Tokenizer
from plugins.explain.attention import rollout
from plugins.explain.attribution import attributions
from tests.model_files import write_file

TEXT, LONGER = "abc d ef", "abc d ef g abc"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained model `saved`, its files in `pushed`, and the same for transformers in `foreign`; beside it others.

    `short` reads less, `other` has other words, and `answering` has another task.
    """
    folder, task = tmp_path_factory.mktemp("models"), family_task("bert", Tokenizer(PIECES, True))
    task.save(folder / "saved")
    (folder / "pushed").mkdir()
    task.save_settings(folder / "pushed")
    for name in ("model.onnx", "model.tflite"):
        write_file(task, folder / "pushed" / name, [task.max_length])
    keras_bert.to_hugging_face(task, folder / "foreign")
    other_student(task, max_length=8).save(folder / "short")
    other_student(task, OTHER_PIECES).save(folder / "other")
    random_task("question_answering", 1).save(folder / "answering")
    (folder / "job.toml").write_text("")
    return folder


def explain(capfd, *arguments):
    return said(capfd, "explain", *arguments)


def test_a_saved_model_by_its_gradients(folder, capfd):
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


def test_files_beside_their_model_explain_one_answer(folder, capfd):
    content = json.loads(explain(capfd, folder / "saved", TEXT, "--compare-with", folder / "pushed", "--json"))
    names = [Path(model["model"]).name for model in content["models"]]
    assert names == ["saved", "model.onnx", "model.tflite"]
    assert len({model["target"] for model in content["models"]}) == 1
    assert {model["method"] for model in content["models"]} == {"occlusion"}
    shares = [[word["share"] for word in model["words"]] for model in content["models"]]
    np.testing.assert_allclose(shares[1:], [shares[0]] * 2, atol=1e-4)
    assert ["attention" in model for model in content["models"]] == [True, False, False]


def test_a_table_of_the_words(folder, capfd):
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


def test_a_folder_of_transformers_and_a_pair(folder, capfd):
    content = json.loads(explain(capfd, folder / "foreign", TEXT, "g a", "--json", "--steps", 4))
    assert content["texts"] == [TEXT, "g a"]
    assert [word["word"] for word in content["models"][0]["words"]] == ["abc", "d", "ef", "g", "a"]


def test_text_that_is_not_read_is_named(folder, capfd):
    printed = explain(capfd, folder / "pushed", "a " * 100)
    assert "tokens were cut" in printed


def test_the_trained_model_of_a_root_has_a_name(folder, tmp_path, capfd):
    trained = tmp_path / "artifacts" / "quantize" / "quantized-21df275a9611"
    shutil.copytree(folder / "saved", trained)
    printed = explain(capfd, trained, TEXT, "--compare-with", folder / "pushed" / "model.onnx")
    assert "trained model" in printed.splitlines()[1]
    assert "21df275a9611" not in printed
    student = tmp_path / "artifacts" / "distill" / "student-21df275a9612"
    shutil.copytree(trained, student)
    printed = explain(capfd, trained, TEXT, "--compare-with", student)
    # A heading may have several lines.
    heading = "".join(printed.partition("┡")[0].split())
    assert "quantize/" in heading
    assert "distill/" in heading


def test_models_of_one_name_all_have_their_attention(folder, tmp_path, capfd):
    for root in ("a", "b"):
        shutil.copytree(folder / "saved", tmp_path / root / "reviews" / "1")
    one, other = (tmp_path / root / "reviews" / "1" for root in ("a", "b"))
    page = tmp_path / "page.html"
    explain(capfd, one, TEXT, "--compare-with", other, "--compare-with", one, "--steps", 1, "--out", page)
    (section,) = json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])
    labels = [item["label"] for item in section["attentions"]]
    assert labels == [item["label"] for item in section["attributions"]] == [str(one), "b/reviews/1", str(one)]


def test_an_embedding_has_no_target_but_the_second_text(folder, tmp_path, capfd):
    task = keras_bert.load(folder / "saved")
    Embedding.build(task.encoder, task.tokenizer, max_length=task.max_length).save(tmp_path / "vectors")
    error = refused(capfd, "explain", tmp_path / "vectors", TEXT, "g a", "--target", "mid")
    assert "--target must be left out for embedding, which compares TEXT with SECOND, got 'mid'" in error
    line = refused(capfd, "explain", tmp_path / "vectors", TEXT)
    assert line == "SECOND must give the text that TEXT is compared with, got none"
    content = json.loads(explain(capfd, tmp_path / "vectors", TEXT, "g a", "--json", "--steps", 4))
    assert content["models"][0]["target"] == "cosine with 'g a'"


def test_a_task_is_chosen_of_models_of_several_alone(folder, capfd):
    line = refused(capfd, "explain", folder / "saved", TEXT, "--task", "mood")
    assert line == "--task must be left out for models of one task, got mood"
    line = refused(capfd, "explain", folder / "job.toml", "--task", "mood")
    assert line == "--task must be left out for a job, got mood"


def test_a_second_text_is_read_as_predict_reads_it(folder, tmp_path, capfd):
    task = keras_bert.load(folder / "saved")
    for name, pairs in (("single", False), ("paired", True)):
        task.pairs = pairs
        task.save(tmp_path / name)
    line = refused(capfd, "explain", tmp_path / "single", TEXT, "g a")
    assert line == "SECOND must be left out: the model takes single texts"
    line = refused(capfd, "explain", tmp_path / "paired", TEXT)
    assert line == "SECOND must give the second text of each pair, got none"
    line = refused(capfd, "explain", folder / "answering", TEXT)
    assert line == "SECOND must give the context of each question, got none"


def test_models_of_a_place(folder):
    assert models_of(folder / "pushed") == [folder / "pushed" / "model.onnx", folder / "pushed" / "model.tflite"]
    assert models_of(folder / "saved") == [folder / "saved"]
    assert models_of(folder / "pushed" / "model.onnx") == [folder / "pushed" / "model.onnx"]


def table(capfd, *arguments):
    """The cells of the table, and everything that was printed."""
    printed = said(capfd, "explain", *arguments)
    lines = [line for line in printed.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines], printed


@pytest.mark.long
def test_words_of_models_that_read_other_words_stand_at_their_places(folder, capfd):
    options = "--method", "occlusion", "--compare-with", folder / "short", "--compare-with", folder / "other"
    rows, printed = table(capfd, folder / "saved", LONGER, *options)
    assert [row[0] for row in rows[:-1]] == LONGER.split()
    assert all(row[1] for row in rows)
    assert [bool(row[2]) for row in rows[:-1]] == [True, True, True, False, False]
    assert "short reads characters 0 to 8 of 14 of text 1: 4 tokens were cut" in printed
    explanations = explain_text([folder / "saved", folder / "other"], LONGER, method="occlusion")
    for number, explanation in enumerate(explanations):
        shares = explanation.attribution.by_word()
        column = [row[1 if number == 0 else 3] for row in rows[:-1]]
        assert [float(cell) for cell in column] == pytest.approx(shares, abs=1e-3)


def test_the_texts_of_a_pair_are_told_apart(folder, capfd):
    rows, _ = table(capfd, folder / "saved", "d", "d", "--method", "occlusion")
    assert [row[:2] for row in rows] == [["d", "1"], ["d", "2"], [rows[-1][0], ""]]


def test_numbers_tell_places_cuts_and_rollout(folder, capfd):
    printed = said(capfd, "explain", folder / "saved", "a " * 40, "--json", "--method", "input_x_gradient")
    (model,) = json.loads(printed)["models"]
    assert model["dropped"] == [{"text": 0, "start": 0, "end": 47, "characters": 80, "tokens": 16}]
    assert {name: model["words"][1][name] for name in ("word", "text", "start", "end")} == {
        "word": "a",
        "text": 0,
        "start": 2,
        "end": 3,
    }
    (task,) = explain_text([folder / "saved"], "a " * 40, method="input_x_gradient")
    expected = rollout(task.attention.weights)[-1]
    assert model["attention"]["rollout"] == pytest.approx(expected.round(6), abs=1e-6)
    assert (model["gap"], model["absolute_gap"]) == (None, None)
    assert len(printed.splitlines()) < 600, "arrays of numbers stand on one line"


def test_json_is_the_same_for_readers():
    value = {"a": [], "b": [{"c": [[1, 2.5], [3, 4]], "d": None}, "é"], "e": {}, "f": [True, "x"]}
    assert json.loads(write_json(value)) == value
    assert '"c": [[1,2.5],[3,4]]' in write_json(value)


def test_small_shares_have_a_digit():
    from plugins.explain.model_reasons import _format_share

    assert [_format_share(share) for share in (0.25, -0.0012, 0.0, 3e-5)] == ["+0.250", "-0.001", "+0.000", "+3e-05"]


def test_answers_beside_one_another_explain_one_word(folder):
    random_task("question_answering", 2).save(folder / "answering2")
    explanations = explain_text([folder / "answering", folder / "answering2"], "ab", "d abc d d c d")
    assert len({explanation.attribution.target for explanation in explanations}) == 1
    for explanation in explanations:
        assert explanation.attention.tokens == explanation.attribution.tokens


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["saved", TEXT, "--target", "hihg"], "got 'hihg'; the nearest is 'high'"),
        (["pushed", TEXT, "--method", "input_x_gradient"], "an exported file can be explained with method='occlusion'"),
        (["nowhere", TEXT], "MODEL must be a file or a folder that exists, got"),
        (["saved", " "], "TEXT must hold a word that the model reads, got ' '"),
        (["saved", TEXT, "--steps", "0"], "steps must be a whole number from 1 to 10000, got 0"),
        (["saved"], "TEXT must follow MODEL, got none"),
        (["job.toml", TEXT], f"TEXT must be left out for a job, got '{TEXT}'"),
        (["saved", TEXT, "--out", "nowhere/a/page.html"], "--out must be in a folder that exists, got"),
        ([".", TEXT], "is not a saved task: it has no model.keras"),
        (["saved", "a", "--compare-with", "answering"], "--compare-with must be for classification, like "),
        (["saved", "a", "--rows", "3"], "--rows must be left out where TEXT is explained, got 3"),
        (["saved", "a", "--set", "seeds=3"], "--set must be left out where TEXT is explained, got seeds=3"),
        (["saved", "a", "--out", "."], "--out must be a file, got the folder"),
        (["saved", "a", "--steps", "10001"], "steps must be a whole number from 1 to 10000, got 10001"),
        (["job.toml", "--target", "a"], "--target must be left out for a job, got a"),
        (["job.toml", "--steps", "64"], "--steps must be left out for a job, got 64"),
        (["job.toml", "--method", "occlusion"], "--method must be left out for a job, got occlusion"),
        (["job.toml", "--compare-with", "saved"], "--compare-with must be left out for a job, got"),
        (["job.toml", "--out", "page.html"], "--out must be left out for a job, got"),
        (
            [str(GOLDEN / "hugging_face_masked_lm"), "the cat"],
            "must be fine-tuned to be explained, got a model for pre",
        ),
    ],
)
def test_refused_in_one_line(folder, capfd, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    assert message in refused(capfd, "explain", *arguments)


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path, capfd):
    model = tmp_path / "x.tflite"
    model.write_bytes(b"")
    line = refused(capfd, "explain", model, "a text", "--out", tmp_path)
    assert list(tmp_path.iterdir()) == [model]
    assert line == f"--out must be a file, got the folder {tmp_path}"


def test_a_public_name_is_no_module_of_the_package():
    """Python sets an imported module as an attribute of its package, in the place of a function of its name."""
    modules = {module.name for module in pkgutil.iter_modules(plugins.explain.__path__)}
    assert modules.isdisjoint(plugins.explain._HOMES)
