import json
import math
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.config import EncoderConfig, Training
from keras_bert.encoder import build_encoder
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.losses import mean, weighted
from keras_bert.saving import save_model
from keras_bert.tasks.classification import build_classifier, classification_objective
from keras_bert.trainer import NonFiniteLossError, Trainer, make_deterministic, write_history
from tests.keras_bert.test_optimizer import ReferenceAdamW

SIZES = {"vocabulary_size": 30, "max_length": 8, "num_layers": 1, "hidden_size": 16, "num_heads": 2}


def rows(count=128, seed=0):
    """Is the second token from the upper half of the vocabulary?"""
    ids = np.random.default_rng(seed).integers(5, 30, (count, 8)).astype("int32")
    zeros, label = np.zeros_like(ids), (ids[:, 1] > 17).astype("int32")
    return tf.data.Dataset.from_tensor_slices(
        {"token_ids": ids, "segment_ids": zeros, "padding_mask": zeros + 1, "label": label}
    )


def small_classifier(dropout=0.0):
    config = EncoderConfig(
        **SIZES, intermediate_size=32, dropout=dropout, attention_dropout=dropout, initializer_range=0.2
    )
    return build_classifier(build_encoder(config), 2, dropout=dropout)


BATCH = {"token_ids": np.array([[1, 1, 1, 2], [1, 3, 3, 0]], "int32")}


def linear():
    """A table; with `linear_objective`, how often a token occurs is its gradient."""
    inputs = keras.Input((None,), dtype="int32", name="token_ids")
    return keras.Model(inputs, TokenEmbedding(5, 2)(inputs))


def linear_objective(model, batch, training):
    sums = weighted(model(batch["token_ids"]), tf.ones((2, 4, 2)))
    return mean(sums), {"loss": sums}


def fit(steps, *, dropout=0.0, strategy=None, training=None, **options):
    keras.utils.set_random_seed(7)
    with (strategy or tf.distribute.get_strategy()).scope():
        model = small_classifier(dropout)
    trainer = Trainer(model, classification_objective, training or Training(learning_rate=3e-3), steps, strategy)
    options = {"validation": rows(33, seed=1).batch(16), "on_progress": lambda *_: None, "validations": 1, **options}
    return model, trainer.fit(rows().repeat().batch(16), **options)


def train_in_a_fresh_process(folder: str) -> None:
    """Trains with dropout; in the folder `first` also without, on one of two virtual devices and on both."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    make_deterministic(3)
    model, history = fit(6, dropout=0.2, log_every=1)
    save_model(model, Path(folder, "model.keras"))
    write_history(history, Path(folder, "history.jsonl"))
    if Path(folder).name == "first":
        both = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        # Small enough that every step is clipped.
        training = Training(learning_rate=1e-2, clip_norm=0.05)
        histories = [fit(8, strategy=where, training=training, log_every=1)[1] for where in (None, both)]
        Path(folder, "devices.json").write_text(json.dumps(histories))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    code = "import sys; from tests.keras_bert.test_trainer import train_in_a_fresh_process as run; run(sys.argv[1])"
    processes = []
    for seed, name in enumerate(("first", "second")):
        (folder / name).mkdir()
        command = [sys.executable, "-c", code, str(folder / name)]
        processes.append(subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": str(seed)}))
    assert [process.wait() for process in processes] == [0, 0]
    return folder


@pytest.mark.parametrize("name", ["model.keras", "history.jsonl"])
def test_two_processes_give_equal_bytes_with_dropout_on(trained, name):
    assert (trained / "first" / name).read_bytes() == (trained / "second" / name).read_bytes()


def test_two_devices_train_like_one(trained):
    one, two = json.loads((trained / "first" / "devices.json").read_text())
    assert len(one) == len(two) == 8
    for left, right in zip(one, two, strict=True):
        assert right == pytest.approx(left, abs=1e-4)


def test_steps_progress_and_history():
    told = []
    training = Training(learning_rate=1e-3, warmup=0.5)
    _, history = fit(10, training=training, log_every=4, validations=2, on_progress=lambda *news: told.append(news))
    assert [(done, total) for done, total, _ in told] == [(step, 10) for step in range(1, 11)]
    assert told[2][2] == ""
    assert told[-1][2].startswith("loss 0.")
    assert [entry["step"] for entry in history] == [4, 5, 8, 10]
    assert ["validation_accuracy" in entry for entry in history] == [False, True, False, True]
    assert [entry["learning_rate"] for entry in history] == pytest.approx([8e-4, 1e-3, 6e-4, 2e-4])
    assert history[0].keys() == {"step", "learning_rate", "loss", "accuracy"}


def test_the_last_step_is_in_the_history_without_validation():
    _, history = fit(3, validations=0)
    assert [(entry["step"], "validation_loss" in entry) for entry in history] == [(3, False)]


def test_evaluation_weighs_every_row_alike():
    model = small_classifier(dropout=0.3)
    trainer = Trainer(model, classification_objective, Training(), 1)
    whole, parts = trainer.evaluate(rows(33).batch(33)), trainer.evaluate(rows(33).batch(16))
    assert parts == pytest.approx(whole, rel=1e-6)
    inputs = next(iter(rows(33).batch(33)))
    right = np.asarray(model({name: inputs[name] for name in model.input})).argmax(-1) == inputs["label"]
    assert whole["accuracy"] == pytest.approx(np.mean(right))


def test_a_step_against_numpy():
    # A repeated id, and gradients far beyond the norm: the table's gradient must be whole when it is clipped.
    model = linear()
    reference = ReferenceAdamW(model.get_weights(), [True], weight_decay=0.02, clip_norm=1e-6)
    training = Training(learning_rate=0.1, warmup=0, weight_decay=0.02, clip_norm=1e-6)
    trainer = Trainer(model, linear_objective, training, 1)
    trainer.fit([BATCH], validation=[BATCH], on_progress=lambda *_: None)
    counts = np.bincount(BATCH["token_ids"].ravel(), minlength=5)
    reference.apply([counts[:, None] / 16 * np.ones((1, 2))], 0.1)
    np.testing.assert_allclose(model.get_weights()[0], reference.weights[0], rtol=1e-4, atol=1e-7)


def test_weights_that_the_objective_does_not_use_stay():
    inputs = keras.Input((None,), dtype="int32", name="token_ids")
    used, unused = TokenEmbedding(5, 2, name="used"), TokenEmbedding(5, 2, name="unused")
    model = keras.Model(inputs, {"used": used(inputs), "unused": unused(inputs)})
    before = [layer.get_weights()[0] for layer in (used, unused)]

    def objective(model, batch, training):
        return linear_objective(lambda ids: model(ids)["used"], batch, training)

    Trainer(model, objective, Training(), 1).fit([BATCH], validation=[BATCH], on_progress=lambda *_: None)
    assert not np.array_equal(used.get_weights()[0], before[0])
    np.testing.assert_array_equal(unused.get_weights()[0], before[1])


def test_a_learnable_problem_is_learnt():
    _, history = fit(150, training=Training(learning_rate=1e-2))
    assert history[0]["accuracy"] < 0.8
    assert history[-1]["validation_accuracy"] > 0.95
    assert history[-1]["validation_loss"] < 0.2


def test_batches_run_out():
    trainer = Trainer(linear(), linear_objective, Training(), 5)
    with pytest.raises(ValueError, match="a batch for each of the 5 steps, but the batches ran out"):
        trainer.fit([BATCH] * 3, validation=[BATCH], on_progress=lambda *_: None)


def test_nothing_to_validate_on():
    with pytest.raises(ValueError, match="at least one batch to evaluate on, got none"):
        Trainer(linear(), linear_objective, Training(), 1).evaluate([])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number(bad):
    def objective(model, batch, training):
        loss, sums = linear_objective(model, batch, training)
        return bad * loss, {"loss": (tf.constant(bad), sums["loss"][1])}

    trainer = Trainer(linear(), objective, Training(learning_rate=0.01), 4)
    with pytest.raises(NonFiniteLossError, match=rf"loss is {bad} at step 2: .* too high \(it was 0\.01\)"):
        trainer.fit([BATCH] * 4, validation=[BATCH], on_progress=lambda *_: None, log_every=2, validations=1)


def test_history_file(tmp_path):
    write_history([{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}], tmp_path / "history.jsonl")
    assert (tmp_path / "history.jsonl").read_text() == '{"loss": 0.5, "step": 1}\n{"loss": 0.25, "step": 2}\n'
