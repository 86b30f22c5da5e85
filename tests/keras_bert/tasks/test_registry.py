import json

import pytest

pytest.importorskip("tensorflow_text", reason="a saved task comes with its tokenizer")

import keras
import numpy as np

import keras_bert
from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.registry import TASKS, load, load_adapter
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.tasks.test_every_task import SINGLE_TASKS
from tests.keras_bert.tasks.tiny import WORDS, make_encoder
from tests.keras_bert.tiny import EAGER
from tests.samples import long_but

TEXTS = ["a very good film.", "bad", "unheard of"]
SETTINGS = {
    "classification": {"labels": ["no", "yes"]},
    "multi_label": {"labels": ["good", "bad"], "thresholds": [0.3, None], "label_precision": 0.75},
    "question_answering": {"stride": 5, "max_query_length": 6, "null_threshold": 1.5},
    "token_classification": {"labels": ["O", "B-film", "I-film"]},
}


def make_task(name):
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
    return TASKS[name].build(make_encoder(num_layers=1), tokenizer, max_length=30, **SETTINGS.get(name, {}))


def ask(task):
    if task.name in ("question_answering", "reranking"):
        return task.predict(["film"] * 3, TEXTS)
    if task.name == "pretraining":
        return task.predict([f"{text} [MASK]" for text in TEXTS])
    return task.predict(TEXTS)


@pytest.fixture
def folder(tmp_path):
    make_task("classification").save(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "name", long_but(("classification", "question_answering", "replaced_tokens", "retrieval"), SINGLE_TASKS)
)
def test_a_loaded_task_answers_as_before(name, tmp_path):
    task = make_task(name)
    task.save(tmp_path / "saved")
    again = keras_bert.load(tmp_path / "saved")
    assert type(again) is type(task)
    assert again.settings() == task.settings()
    np.testing.assert_equal(ask(again), ask(task))


def test_an_adapter_keeps_calibration_and_pairs(tmp_path):
    task = make_task("classification")
    task.adapt(keras_bert.Lora(rank=1))
    task.calibration, task.pairs = Calibration(1.5, 0.75), True
    task.save_adapter(tmp_path)
    loaded = load_adapter(tmp_path, base=task)
    assert (loaded.calibration, loaded.pairs) == (task.calibration, True)
    content = json.loads((tmp_path / "adapter.json").read_text())
    content["task"]["calibration"] = {"temperature": -1}
    (tmp_path / "adapter.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"adapter\.json: calibration must hold a positive temperature"):
        load_adapter(tmp_path, base=task)


def test_the_optimizer_is_not_saved_and_numbers_of_numpy_are(tmp_path):
    task = make_task("classification")
    before = task.model.get_weights()
    task.save(tmp_path / "plain")
    task.compile(keras_bert.adamw(1e-3, 10), **EAGER)
    task.model.fit(*task.examples(TEXTS, ["no", "yes", "no"]), verbose=0)
    task.model.set_weights(before)
    task.save(tmp_path / "fitted")
    assert (tmp_path / "plain/model.keras").read_bytes() == (tmp_path / "fitted/model.keras").read_bytes()
    task.calibration = Calibration(np.float32(1.5), 0.75)
    task.save(tmp_path / "calibrated")
    assert load(tmp_path / "calibrated").calibration == Calibration(1.5, 0.75)
    task = make_task("question_answering")
    task.null_threshold = np.float32(0.5)
    task.save(tmp_path)
    assert load(tmp_path).null_threshold == 0.5
    with pytest.raises(ValueError, match=r"QuestionAnswering\.null_threshold must be a finite number or None, got nan"):
        task.null_threshold = float("nan")


def test_what_a_callback_saved_is_read_by_keras(tmp_path):
    task = make_task("question_answering")
    task.compile(keras_bert.adamw(1e-3, 10), **EAGER)
    checkpoint = keras.callbacks.ModelCheckpoint(tmp_path / "best.keras")
    task.model.fit(*task.examples(["film"], ["a good film"], [("good", 2)]), callbacks=[checkpoint], verbose=0)
    loaded = keras.models.load_model(tmp_path / "best.keras", custom_objects=keras_bert.CUSTOM_OBJECTS)
    for value, expected in zip(loaded.get_weights(), task.model.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("missing", ["model.keras", "task.json"])
def test_missing_files(folder, missing):
    (folder / missing).unlink()
    with pytest.raises(FileNotFoundError, match=f"is not a saved task: it has no {missing}"):
        load(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"task": "classif', "task.json must hold JSON"),
        ("[]", r"task.json must hold a JSON object, got \[\]"),
        ('{"task": ["poetry"]}', r"task must be one of .*, got \['poetry'\]"),
        ('{"task": "poetry"}', "task must be one of .*'classification'.*, got 'poetry'"),
        ('{"task": "classification", "colour": 1}', "must hold the settings of classification, got {'colour': 1}"),
        ('{"task": "regression", "max_length": 30}', r"model must give numbers \(batch, 1\), got 'classif"),
    ],
)
def test_a_damaged_description(folder, content, message):
    (folder / "task.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        load(folder)


def test_other_damage(folder):
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0"}))
    with pytest.raises(ValueError, match=r'tokenizer\.json must say {"lowercase": true}, false or "keep_accents"'):
        load(folder)
    whole = (folder / "model.keras").read_bytes()
    (folder / "model.keras").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"model\.keras must be a whole \.keras file"):
        load(folder)
