"""Models as artifacts: what is in the folder, and that equal ones are equal bytes."""

import keras
import numpy as np
import pytest

from components.artifacts.standard import Model
from components.training.model_folder import read_model, write_model
from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.classification import Classification
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

HISTORY = [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25, "validation_loss": 1.0}]
TOKENIZER = Tokenizer([*SPECIAL_TOKENS, "ß", "a"], lowercase=False)


@pytest.fixture
def task():
    keras.utils.set_random_seed(0)
    shape = {"num_layers": 1, "hidden_size": 4, "num_heads": 1, "intermediate_size": 4, "max_length": 8}
    encoder = build_encoder(EncoderConfig(vocabulary_size=TOKENIZER.vocabulary_size, **shape))
    return Classification.build(encoder, TOKENIZER, labels=["schön", "nicht"], max_length=8)


def write(folder, task):
    output = Model(folder)
    write_model(output, task, HISTORY, "bfloat16")
    return output


def test_a_folder_holds_the_model_its_tokenizer_its_task_and_its_history(tmp_path, task):
    output = write(tmp_path / "model", task)
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
        '{"loss": 0.5, "precision": "bfloat16", "step": 1}\n'
        '{"loss": 0.25, "precision": "bfloat16", "step": 2, "validation_loss": 1.0}\n'
    )
    assert output.file("vocab.txt").read_text(encoding="utf-8").splitlines() == [*SPECIAL_TOKENS, "ß", "a"]
    parameters = task.model.count_params()
    last = {"step": 2, "loss": 0.25, "validation_loss": 1.0}
    assert output.counts == {"parameters": parameters, "precision": "bfloat16", **last}


def test_a_model_comes_back_as_the_task_that_it_was(tmp_path, task):
    restored = read_model(write(tmp_path / "model", task))
    assert isinstance(restored, Classification)
    assert restored.settings() == task.settings()
    assert restored.predict(["a ß"]) == task.predict(["a ß"])


def test_the_same_model_is_the_same_bytes(tmp_path, task):
    first = write(tmp_path / "first", task).seal({})
    weights = task.model.get_weights()
    task.compile(keras.optimizers.Adam(0.0), run_eagerly=True)
    features, labels = task.examples(["a", "ß"], ["nicht", "schön"])
    # At this rate nothing is learnt, and the optimizer has made a step.
    task.model.train_on_batch(features, labels)
    assert write(tmp_path / "second", task).seal({}) == first, "the optimizer is not part of it"
    task.model.set_weights([*weights[:-1], weights[-1] + np.float32(0.5)])
    assert write(tmp_path / "third", task).seal({}) != first
