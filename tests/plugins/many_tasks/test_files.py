"""One file of several tasks: its signatures and size, each task of it, and the command `predict`."""

import json
import os

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

import keras_bert
from keras_bert.core.target_scale import TargetScale
from pipeline.cli import main
from plugins.many_tasks import recipes
from plugins.many_tasks.task import ManyTasks
from tests.keras_bert.recipes.test_texts import TEXTS
from tests.pipeline.command_line import refused, said
from tests.plugins.many_tasks.tiny import data_of, make_many, make_tasks

pytestmark = pytest.mark.usefixtures("eager")

READ = TEXTS[:3]


@pytest.fixture(scope="module")
def many():
    made = make_many("mood", "tags")
    recipes.quantize(made, data_of(made), post_training=True, batch_size=8)
    return made


@pytest.fixture(scope="module")
def files(many, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name in ("many.tflite", "many.onnx"):
        many.export(folder / name, lengths=(8,))
    return folder


def labels(answers):
    return [(answer["mood"].label, [entity.text for entity in answer["tags"]]) for answer in answers]


@pytest.mark.parametrize("name", ["many.tflite", "many.onnx"])
def test_a_file_answers_all_tasks_and_each(many, files, name):
    file = keras_bert.load(files / name)
    answers = file.predict(READ)
    assert labels(answers) == labels(many.predict(READ))
    for task in many.tasks:
        alone = keras_bert.load(files / name, task=task)
        assert type(alone) is type(many.part(task))
        assert alone.labels == many.part(task).labels
    alone = [answer.probability for answer in keras_bert.load(files / name, task="mood").predict(READ)]
    np.testing.assert_allclose(alone, [answer["mood"].probability for answer in answers], atol=1e-6)
    expected = [answer.probability for answer in many.part("mood").predict(READ)]
    np.testing.assert_allclose(alone, expected, atol=0.01)
    with pytest.raises(ValueError, match=r"ManyTasks\.task must be one of mood, tags, got 'stars'"):
        keras_bert.load(files / name, task="stars")


def test_signatures_share_the_weights(many, files, tmp_path):
    signatures = Interpreter(str(files / "many.tflite")).get_signature_list()
    assert set(signatures) == {"serve_8", "mood_8", "tags_8"}
    assert sorted(signatures["serve_8"]["outputs"]) == ["mood", "tags"]
    assert signatures["mood_8"]["outputs"] == ["logits"]
    table = many.model.get_layer("token_embedding").count_params()
    many.part("mood").export(tmp_path / "mood.tflite", lengths=(8,))
    content = (files / "many.tflite").read_bytes()
    kernel = many.model.get_layer("block_0").feed_forward.intermediate.kernel.numpy()
    scale = np.abs(kernel).max(axis=0) / 127
    stored = np.rint(kernel / scale).astype("int8").T.tobytes()
    assert content.count(stored) == 1
    assert (tmp_path / "mood.tflite").read_bytes().count(stored) == 1
    assert os.path.getsize(files / "many.onnx") < 4 * (many.model.count_params() + table) + 40_000


def test_the_command_predict_answers_with_one_task_or_all(many, files, capfd):
    assert main(["predict", str(files / "many.tflite"), READ[0], "--task", "mood"]) == 0
    label, _, text = capfd.readouterr().out.strip().split("\t")
    assert (label, text) == (many.part("mood").predict(READ[:1])[0].label, READ[0])
    assert main(["predict", str(files / "many.tflite"), READ[0]]) == 0
    assert capfd.readouterr().out.startswith("mood\t")
    assert main(["predict", str(files / "many.tflite"), READ[0], "--task", "stars"]) == 2
    assert "ManyTasks.task must be one of mood, tags, got 'stars'" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("mood", "tags", "pairs", "refused_texts"),
    [(True, None, True, ["film"]), (False, None, False, ["film", "--second", "a"]), (True, False, None, [])],
)
def test_the_command_asks_for_what_all_tasks_take(tmp_path, capfd, mood, tags, pairs, refused_texts):
    made = make_many("mood", "near", *(["tags"] if tags is False else []))
    made.part("mood").pairs = mood
    assert made.pairs is pairs
    made.export(tmp_path / "many.onnx")
    assert keras_bert.load(tmp_path / "many.onnx").pairs is pairs
    if refused_texts:
        line = refused(capfd, "predict", tmp_path / "many.onnx", *refused_texts)
        assert line.startswith(f"--second must {'give the second text' if pairs else 'be left out'}")
    assert said(capfd, "predict", tmp_path / "many.onnx", "film", *(["--second", "a"] if pairs else []))


def test_numbers_of_a_regression_are_on_no_grid(tmp_path):
    """A grid of eight bits from 0 to 5,030 would have steps of 20."""
    tasks = make_tasks("mood", "stars")
    tasks["stars"].model.get_layer("regressor").scale = TargetScale(5000.0, 10.0)
    many = ManyTasks(tasks)
    recipes.quantize(many, data_of(many), recipe="static_wi8_ai8", post_training=True, batch_size=8)
    assert many.quantization.float_layers == ("stars/regressor",)
    expected = many.part("stars").predict(TEXTS)
    many.export(tmp_path / "many.tflite", TEXTS, lengths=(8,))
    together = [answer["stars"] for answer in keras_bert.load(tmp_path / "many.tflite").predict(TEXTS)]
    alone = keras_bert.load(tmp_path / "many.tflite", task="stars").predict(TEXTS)
    np.testing.assert_allclose([together, alone], [expected, expected], atol=5)


def test_refuses_other_names_and_half_numbers_of_a_regression(tmp_path):
    many = make_many("stars")
    with pytest.raises(ValueError, match=r"export\.path must end with \.tflite or \.onnx, got '.*saved_model\.pb'"):
        many.export(tmp_path / "saved_model.pb")
    rule = r"export\.task must be exported by its own method, as many\.export\(FILE\), got 'many_tasks'"
    with pytest.raises(ValueError, match=rule):
        keras_bert.export_task(many, tmp_path / "many.tflite")
    with pytest.raises(ValueError, match=r"compile\.task must be one task: compile each of its tasks, got 'many_tas"):
        keras_bert.compile_task(many)
    recipes.quantize(many, data_of(many), recipe="float16", post_training=True, batch_size=8)
    with pytest.raises(ValueError, match="recipe must hold integers in a file with a regression"):
        many.export(tmp_path / "many.tflite")
    assert list(tmp_path.iterdir()) == []


def test_explain_shows_one_task_of_files_and_models(many, files, tmp_path, capfd):
    pytest.importorskip("plugins.explain", reason="the command is of another plug-in")
    many.save(tmp_path / "saved")
    arguments = ["explain", tmp_path / "saved", READ[0], "--compare-with", files / "many.tflite"]
    assert refused(capfd, *arguments) == "--task must be one of mood, tags, got none"
    assert refused(capfd, *arguments, "--task", "moods") == "--task must be one of mood, tags, got moods"
    trained, exported = json.loads(said(capfd, *arguments, "--task", "mood", "--json"))["models"]
    expected = many.tasks["mood"].predict([READ[0]])[0].label
    assert (trained["target"], exported["target"]) == (expected, expected)
    assert "attention" in trained
    shares = [[word["share"] for word in model["words"]] for model in (trained, exported)]
    np.testing.assert_allclose(shares[1], shares[0], atol=0.05)
    (tagged,) = json.loads(said(capfd, "explain", tmp_path / "saved", READ[0], "--task", "tags", "--json"))["models"]
    assert tagged["method"] == "integrated_gradients"
