"""A task asks an exported file as it asks its Keras model."""

import dataclasses
import json
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.core.folders import INPUT_NAMES
from keras_bert.export.attachments import attach_entries
from keras_bert.export.bundle import attach_companions, load_exported
from keras_bert.export.mediapipe import export_mediapipe
from keras_bert.export.onnx import export_onnx
from keras_bert.export.runtimes import OnnxModel, TFLiteModel, open_file
from keras_bert.export.targets import mediapipe
from keras_bert.export.text import export_text
from keras_bert.export.tflite import export_tflite
from keras_bert.export.transformers_js import export_transformers_js
from keras_bert.interop.tf1 import to_tf1
from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.registry import TASKS
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.hub import hub
from tests.keras_bert.tasks.tiny import WORDS, make_encoder
from tests.samples import long_but

__all__ = ["hub"]

LENGTHS = (8, 20)
SETTINGS = {
    "classification": {"labels": ["no", "yes"]},
    "embedding": {"normalize": True},
    "question_answering": {"stride": 5, "max_query_length": 6, "null_threshold": 1.5},
    "regression": {},
    "token_classification": {"labels": ["O", "B-film", "I-film"]},
}
FILES = {"model_float32.tflite": "LiteRT", "model.onnx": "ONNX Runtime"}
# Longer than the model's input, as short as can be, and between.
TEXTS = ["a very good film. " * 6, "", "bad, very bad film"]


def make_task(name):
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
    return TASKS[name].build(make_encoder(num_layers=1), tokenizer, max_length=LENGTHS[-1], **SETTINGS[name])


@pytest.fixture(scope="module", params=long_but(("classification", "question_answering"), SETTINGS))
def exported(request, tmp_path_factory):
    """A task, and the folder of its exported files."""
    task, folder = make_task(request.param), tmp_path_factory.mktemp(request.param)
    export_tflite(task.network(), folder / "model_float32.tflite", LENGTHS, output=task.output_name)
    export_onnx(task.network(), folder / "model.onnx", output=task.output_name)
    for file in FILES:
        attach_companions(task, folder / file)
    task.save_settings(folder)
    return task, folder


def ask(task):
    questions = [["a film?", "film", "very " * 9]] if task.name == "question_answering" else []
    return task.predict(*questions, TEXTS)


def assert_alike(actual, expected):
    """Numbers nearly, all else exactly, however deep they stand."""
    assert type(actual) is type(expected)
    if dataclasses.is_dataclass(expected):
        assert_alike(dataclasses.asdict(actual), dataclasses.asdict(expected))
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for name, value in expected.items():
            assert_alike(actual[name], value)
    elif isinstance(expected, list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_alike(one, other)
    elif isinstance(expected, float | np.ndarray):
        np.testing.assert_allclose(actual, expected, atol=1e-5)
    else:
        assert actual == expected


@pytest.mark.parametrize("file", FILES)
def test_an_exported_file_answers_like_its_model(exported, file):
    task, folder = exported
    again = load_exported(folder, file)
    assert type(again) is type(task)
    assert again.model.name == FILES[file]
    assert again.settings() == task.settings()
    assert_alike(ask(again), ask(task))
    assert again.count_tokens(TEXTS) == task.count_tokens(TEXTS)


USES = {
    "saved": lambda task, folder: task.save(folder),
    "trained": lambda task, folder: task.compile(None),
    "taken apart": lambda task, folder: task.encoder,
    "adapted": lambda task, folder: task.adapt(keras_bert.Lora(rank=2)),
    "written for transformers": lambda task, folder: keras_bert.to_hugging_face(task, folder),
    "written as Google's checkpoint": lambda task, folder: to_tf1(task, folder / "model.ckpt"),
}


@pytest.mark.parametrize("use", USES)
def test_an_exported_file_is_no_keras_model(exported, use, tmp_path):
    _, folder = exported
    message = rf"\.model must be a Keras model to be {use}, got a file in LiteRT: load the folder of the model that"
    with pytest.raises(ValueError, match=message):
        USES[use](load_exported(folder), tmp_path / "new")
    assert not any(tmp_path.iterdir())


@pytest.fixture(scope="module")
def classifier():
    """For tests that leave it as it is."""
    return make_task("classification")


@pytest.fixture(scope="module")
def pushed(classifier, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pushed")
    export_onnx(classifier.network(), folder / "model.onnx")
    classifier.save_settings(folder)
    return folder


@pytest.fixture
def folder(pushed, tmp_path):
    """A classifier for ONNX Runtime."""
    shutil.copytree(pushed, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_the_smallest_file_that_is_there_answers(folder, files):
    models = [load_exported(folder).model]
    for name in ("model_float32.tflite", "model.tflite"):
        # Of another vocabulary, but nothing is asked.
        shutil.copy(files / name, folder)
        attach_entries(folder / name, {})
        settings = json.loads((folder / "task.json").read_text())
        (folder / "task.json").write_text(json.dumps({**settings, "max_length": 16}))
        models.append(load_exported(folder).model)
    assert [model.name for model in models] == ["ONNX Runtime", "LiteRT", "LiteRT"]
    row = dict.fromkeys(INPUT_NAMES, np.ones((1, 3), np.int32))
    exact, coarse = (model(**row) for model in models[1:])
    assert not np.array_equal(exact, coarse)


def test_a_loose_file_that_differs_from_the_attached_one_is_refused(classifier, folder):
    attach_companions(classifier, folder / "model.onnx")
    classifier.save_settings(folder)
    load_exported(folder)
    (folder / "vocab.txt").write_text((folder / "vocab.txt").read_text() + "another\n")
    with pytest.raises(ValueError, match=r"vocab\.txt must equal the file attached to model\.onnx, but differs: load"):
        load_exported(folder)


def test_a_folder_and_a_file_of_the_hub_answer_as_here(folder, hub):
    hub.add("ann/mine", folder)
    row = dict.fromkeys(INPUT_NAMES, np.ones((1, 3), np.int32))
    here, *there = (
        keras_bert.load(place).model(**row) for place in (folder, "hf://ann/mine", "hf://ann/mine/model.onnx")
    )
    assert all(np.array_equal(here, answer) for answer in there)
    with pytest.raises(ValueError, match=r"hf://ann/mine@.*/x.onnx must be a file or a folder that exists"):
        keras_bert.load("hf://ann/mine/x.onnx")


@pytest.mark.parametrize("missing", ["model.onnx", "task.json", "vocab.txt", "tokenizer.json"])
def test_what_is_missing_is_named(folder, missing):
    (folder / missing).unlink()
    with pytest.raises(FileNotFoundError, match=f"is not a pushed model: it has no {missing}"):
        load_exported(folder, "model.onnx")


def test_a_file_that_holds_its_companions_answers_alone(folder, tmp_path_factory):
    texts = ["piece1 piece2", "piece3"]
    expected = load_exported(folder).predict(texts)
    alone = tmp_path_factory.mktemp("alone") / "renamed.onnx"
    shutil.copy(folder / "model.onnx", alone)
    companions = ("task.json", "vocab.txt", "tokenizer.json")
    attach_entries(alone, {name: (folder / name).read_bytes() for name in companions[:2]})
    with pytest.raises(FileNotFoundError, match=r"renamed\.onnx is not a pushed model: it has no tokenizer\.json"):
        load_exported(alone)
    attach_entries(alone, {name: (folder / name).read_bytes() for name in companions[2:]})
    assert load_exported(alone).predict(texts) == expected


def test_a_folder_without_any_file_asks_for_the_first_choice(folder):
    (folder / "model.onnx").unlink()
    with pytest.raises(FileNotFoundError, match=r"is not a pushed model: it has no model\.tflite"):
        load_exported(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_length": None}, r"task\.json must say max_length, a whole number, got {'labels': .*"),
        ({"colour": 1}, r"task\.json must hold the settings of classification, got .*'colour': 1"),
        ({"labels": ["no", "yes", "maybe"]}, r"labels must be as many as the model's outputs \(2\), got 3"),
        ({"task": "embedding"}, r"task\.json must hold the settings of embedding"),
        ({"task": "regression", "labels": ...}, r"model must give numbers \(batch, 1\), got 'ONNX Runtime'"),
        ({"task": "pretraining", "labels": ...}, r"Pretraining\.model must have an output `masked_tokens`, got 'ONNX"),
        ({"task": "poetry"}, "task must be one of .*, got 'poetry'"),
    ],
)
def test_a_damaged_description(folder, change, message):
    settings = {**json.loads((folder / "task.json").read_text()), **change}
    (folder / "task.json").write_text(json.dumps({name: value for name, value in settings.items() if value is not ...}))
    with pytest.raises(ValueError, match=message):
        load_exported(folder)


@pytest.mark.parametrize("name", ["model.onnx", "model_float32.tflite"])
@pytest.mark.parametrize("content", [b"", b"no model at all"])
def test_a_file_that_is_none(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name} must be an? \.(onnx|tflite) file: "):
        open_file(tmp_path / name, 16)


def test_the_end_of_its_name_tells_the_runtime_of_a_file(files):
    assert isinstance(open_file(files / "model.onnx", 16), OnnxModel)
    assert isinstance(open_file(files / "model.tflite", 16), TFLiteModel)
    assert [open_file(files / name, 16).max_length for name in ("model.onnx", "model.tflite")] == [16, 16]


def test_files_that_do_not_fit_changed_or_hold_damage_are_refused(folder, files, tmp_path):
    shutil.copy(files / "model.tflite", folder)
    attach_entries(folder / "model.tflite", {})
    with pytest.raises(ValueError, match="max_length must be between 3 and the model's 16 positions, got 20"):
        load_exported(folder)
    shutil.copy(files / "model.tflite", folder)
    attach_entries(folder / "model.tflite", {})
    content = bytearray((folder / "model.tflite").read_bytes())
    content[1000] ^= 1
    (folder / "model.tflite").write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"model\.tflite must hold the model that was exported, but its first "):
        load_exported(folder)
    companions = {name: (folder / name).read_bytes() for name in ("task.json", "vocab.txt", "tokenizer.json")}
    attach_entries(folder / "model.onnx", {**companions, "task.json": b"{"})
    with pytest.raises(ValueError, match=rf"{folder}/model\.onnx/task\.json must hold JSON"):
        load_exported(folder / "model.onnx")


def test_a_file_for_litert_must_hold_its_digest(folder, files):
    shutil.copy(files / "model.tflite", folder)
    with pytest.raises(ValueError, match=r"model\.tflite must hold a digest\.json of its model"):
        load_exported(folder)


def test_what_was_measured_says_how_probabilities_are_made(classifier, folder):
    plain = load_exported(folder, "model.onnx")
    assert plain.calibration == Calibration()
    metrics = json.dumps({"calibration": {"temperature": 4.0, "threshold": 0.75}})
    (folder / "metrics.json").write_text(metrics)
    attach_companions(classifier, folder / "model.onnx")
    assert load_exported(folder / "model.onnx").calibration == Calibration(), "the file alone says nothing of it yet"
    attach_entries(folder / "model.onnx", {"metrics.json": metrics.encode()})
    (logits,) = plain.outputs(TEXTS[:1])
    expected = np.exp(logits.max() / 4) / np.exp(logits / 4).sum()
    for place in (folder, folder / "model.onnx"):
        loaded = load_exported(place) if place.is_file() else load_exported(place, "model.onnx")
        assert loaded.calibration == Calibration(4.0, 0.75)
        (prediction,) = loaded.predict(TEXTS[:1])
        assert prediction.probability == pytest.approx(expected)
        assert prediction.label == plain.predict(TEXTS[:1])[0].label


def test_a_saved_or_exported_task_keeps_its_calibration(classifier, folder, monkeypatch):
    monkeypatch.setattr(classifier, "calibration", Calibration(4.0, 0.75))
    (expected,) = classifier.predict(TEXTS[:1])
    attach_companions(classifier, folder / "model.onnx")
    classifier.save(folder / "saved")
    for place in (folder / "model.onnx", folder / "saved"):
        loaded = keras_bert.load(place)
        assert loaded.calibration == Calibration(4.0, 0.75)
        assert loaded.predict(TEXTS[:1])[0].probability == pytest.approx(expected.probability, abs=1e-5)


@pytest.fixture(scope="module", params=long_but(["classification"], SETTINGS))
def every_file(request, tmp_path_factory):
    """A task, and a pushed version with each file that is not in `exported`."""
    task, folder = make_task(request.param), tmp_path_factory.mktemp(request.param) / "3"
    folder.mkdir()
    export_text(task, folder / "model_text.tflite")
    if request.param in mediapipe.TASKS:
        export_mediapipe(task, folder / "model_mediapipe.tflite")
    for file in folder.glob("*.tflite"):
        attach_companions(task, file)
    export_transformers_js(task, folder)
    task.save_settings(folder)
    return task, folder


def test_each_file_is_asked_in_its_runtime(every_file):
    task, folder = every_file
    # One row each: a file that takes text cuts a longer one.
    texts = ["a very good film", "", "bad, very bad film!"]
    arguments = [["a film?", "film", "very"], texts] if task.name == "question_answering" else [texts]
    expected = task.predict(*arguments)
    files = [file for file in folder.rglob("model*") if file.suffix in (".tflite", ".onnx")]
    assert len(files) == 4 + (task.name in mediapipe.TASKS)
    for file in files:
        answers = load_exported(file).predict(*arguments)
        if file.name in ("model.onnx", "model_text.tflite", "model_mediapipe.tflite"):
            assert_alike(answers, expected)
        assert len(answers) == len(texts)
    for name in {"model_text.tflite", "model_mediapipe.tflite"} & {file.name for file in files}:
        moved = shutil.copyfile(folder / name, folder.parent / "renamed.tflite")
        assert_alike(load_exported(moved).predict(*arguments), expected)


def test_words_of_a_file_that_takes_text_have_their_tags(tmp_path):
    task = make_task("token_classification")
    export_text(task, tmp_path / "model_text.tflite")
    attach_companions(task, tmp_path / "model_text.tflite")
    tags = load_exported(tmp_path / "model_text.tflite").predict_tags(
        [["a", "good", "film", "\u200b", "very"], ["film"]]
    )
    assert tags[1] == task.predict_tags([["film"]])[0]
    assert [tags[0][number] for number in (0, 1, 2, 4)] == task.predict_tags([["a", "good", "film", "very"]])[0]
    assert tags[0][3] == "O"
    loaded = load_exported(tmp_path / "model_text.tflite")
    for ask_tokens in (loaded.word_logits, lambda words: keras_bert.evaluate(loaded, words, [["O"]])):
        with pytest.raises(ValueError, match=r"model_text\.tflite takes text, not tokens: load .* takes token ids"):
            ask_tokens([["film"]])


def test_outputs_of_a_file_that_takes_text_are_rows(tmp_path):
    task, file = make_task("embedding"), tmp_path / "model_text.tflite"
    export_text(task, file)
    attach_companions(task, file)
    vectors = [row["embedding"] for row in load_exported(file).outputs(TEXTS[1:])]
    np.testing.assert_allclose(vectors, task.predict(TEXTS[1:]), atol=1e-5)


@pytest.mark.parametrize("every_file", ["classification"], indirect=True)
def test_mediapipe_has_ids_of_its_own(every_file):
    task, folder = every_file
    exported = load_exported(folder / "model_mediapipe.tflite")
    accented = "g\u00f6od"
    assert task.tokenizer.tokenize([accented]).to_list() == task.tokenizer.tokenize(["good"]).to_list()
    assert exported.tokenizer.tokenize([accented]).to_list() == [[exported.tokenizer.unknown_id]]
    assert_alike(exported.predict([f"{accented} film"]), task.predict(["unheard film"]))


def test_load_opens_whatever_was_written(exported, tmp_path):
    task, folder = exported
    task.save(tmp_path / "saved")
    assert isinstance(keras_bert.load(tmp_path / "saved").model, keras.Model)
    assert isinstance(keras_bert.load(folder).model, TFLiteModel)
    assert isinstance(keras_bert.load(folder / "model.onnx").model, OnnxModel)
    for version in ("2", "10"):
        shutil.copytree(folder, tmp_path / "name" / version)
    for load in (keras_bert.load, load_exported):
        with pytest.raises(FileNotFoundError, match=f"its newest version is {tmp_path / 'name' / '10'}$"):
            load(tmp_path / "name")
        newest = tmp_path / "name" / "10"
        with pytest.raises(FileNotFoundError, match=f"models by name, newest versions: {newest}$"):
            load(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not a saved task"):
        keras_bert.load(tmp_path / "missing")


def test_a_file_knows_whether_its_rows_are_pairs(classifier, folder, monkeypatch):
    monkeypatch.setattr(classifier, "pairs", True)
    settings = json.loads((folder / "task.json").read_text()) | {"pairs": "yes"}
    (folder / "task.json").write_text(json.dumps(settings))
    with pytest.raises(ValueError, match="pairs must be true, false or left out, got 'yes'"):
        load_exported(folder)
    classifier.save_settings(folder)
    attach_companions(classifier, folder / "model.onnx")
    assert load_exported(folder).pairs is load_exported(folder / "model.onnx").pairs is True


@pytest.mark.parametrize("exported", long_but(["question_answering"], SETTINGS), indirect=True)
def test_asking_a_file_imports_neither_keras_nor_tensorflow(exported):
    task, folder = exported
    arguments = "['a film'], ['a film']" if task.name == "question_answering" else "['a film']"
    code = (
        "import sys; from keras_bert.export.bundle import load_exported;"
        f"[load_exported({str(folder)!r} + '/' + name).predict({arguments}) for name in {list(FILES)}];"
        "sys.exit(', '.join({'tensorflow', 'keras'} & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
