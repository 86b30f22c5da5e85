from pathlib import Path

import keras
import numpy as np
import pytest

from components.artifacts.model import Model
from components.artifacts.vocabulary import Vocabulary
from components.training.model_folder import copy_tokenizer, read_model, read_task, write_model

TASK = {"task": "classification", "labels": ["schön", "nicht"], "max_length": 8}
HISTORY = [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25, "validation_loss": 1.0}]


def make_tokenizer(folder: Path) -> Vocabulary:
    vocabulary = Vocabulary(folder)
    folder.mkdir()
    # Neither what a text file of this machine would hold, nor what JSON of this machine would be.
    vocabulary.file("vocab.txt").write_bytes("[PAD]\nß\r\n".encode())
    vocabulary.file("tokenizer.json").write_bytes(b'{"lowercase" :true}')
    vocabulary.file("statistics.json").write_text("{}")
    return vocabulary


@pytest.fixture
def model() -> keras.Model:
    """Three weights of known values."""
    inputs = keras.Input((2,))
    made = keras.Model(inputs, keras.layers.Dense(1, name="dense")(inputs), name="line")
    made.set_weights([np.array([[2.0], [3.0]]), np.array([5.0])])
    return made


def make_model(folder: Path, model: keras.Model) -> Model:
    output = Model(folder / "model")
    output.path.mkdir(parents=True)
    write_model(output, model, make_tokenizer(folder / "vocabulary"), TASK, HISTORY)
    return output


def test_a_folder_holds_the_model_its_tokenizer_its_task_and_its_history(tmp_path: Path, model: keras.Model) -> None:
    output = make_model(tmp_path, model)
    assert sorted(file.name for file in output.path.iterdir()) == [
        "history.jsonl",
        "model.keras",
        "task.json",
        "tokenizer.json",
        "vocab.txt",
    ]
    assert output.file("task.json").read_text() == (
        '{\n "labels": [\n  "sch\\u00f6n",\n  "nicht"\n ],\n "max_length": 8,\n "task": "classification"\n}\n'
    )
    assert output.file("history.jsonl").read_text() == (
        '{"loss": 0.5, "step": 1}\n{"loss": 0.25, "step": 2, "validation_loss": 1.0}\n'
    )
    assert output.file("vocab.txt").read_bytes() == "[PAD]\nß\r\n".encode()
    assert output.file("tokenizer.json").read_bytes() == b'{"lowercase" :true}'
    assert output.counts == {"parameters": 3, "step": 2, "loss": 0.25, "validation_loss": 1.0}


def test_what_was_written_is_read_and_can_be_used(tmp_path: Path, model: keras.Model) -> None:
    found, task = read_model(make_model(tmp_path, model))
    assert task == TASK
    # 2 * 7 + 3 * 11 + 5
    assert keras.ops.convert_to_numpy(found(np.array([[7.0, 11.0]]))).tolist() == [[52.0]]


def test_the_same_model_is_the_same_bytes(tmp_path: Path, model: keras.Model) -> None:
    first = make_model(tmp_path / "first", model).seal({})
    model.compile("adam", "mse", run_eagerly=True)
    # Nothing to learn: the weights stay, and the optimizer has made a step.
    model.train_on_batch(np.zeros((2, 2)), np.full((2, 1), 5.0))
    assert make_model(tmp_path / "second", model).seal({}) == first, "the optimizer is no part of it"
    model.set_weights([np.array([[2.0], [3.0]]), np.array([5.5])])
    assert make_model(tmp_path / "third", model).seal({}) != first


def test_a_task_comes_back_as_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text('{"labels": ["\\u2028", "é"], "threshold": null}', encoding="utf-8")
    assert read_task(Model(tmp_path)) == {"labels": ["\u2028", "é"], "threshold": None}


@pytest.mark.parametrize("missing", ["vocab.txt", "tokenizer.json"])
def test_half_a_tokenizer_is_an_error_that_names_the_file(tmp_path: Path, missing: str) -> None:
    source = make_tokenizer(tmp_path / "vocabulary")
    source.file(missing).unlink()
    (tmp_path / "model").mkdir()
    with pytest.raises(FileNotFoundError, match=f"vocabulary/{missing}"):
        copy_tokenizer(source, tmp_path / "model")


def test_only_the_tokenizer_is_copied(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    copy_tokenizer(make_tokenizer(tmp_path / "vocabulary"), tmp_path / "model")
    assert sorted(file.name for file in (tmp_path / "model").iterdir()) == ["tokenizer.json", "vocab.txt"]
