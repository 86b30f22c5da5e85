import json
import math
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.config import EncoderConfig
from keras_bert.digests import digest
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.losses import weighted
from keras_bert.models.encoder import build_encoder
from keras_bert.models.saving import load_model, save_model
from keras_bert.objectives.classification import ClassificationObjective
from keras_bert.options.training import Training
from keras_bert.tasks.classification import build_classifier
from keras_bert.training.checkpoints import CheckpointError
from keras_bert.training.devices import Devices
from keras_bert.training.history import write_history
from keras_bert.training.loop import NonFiniteLossError
from keras_bert.training.trainer import Trainer, make_deterministic
from tests.keras_bert.test_optimizer import ReferenceAdamW

SIZES = {"vocabulary_size": 30, "max_length": 8, "num_layers": 1, "hidden_size": 16, "num_heads": 2}


class Rows:
    """Batches of rows in memory."""

    def __init__(self, columns, batch_size):
        self.columns, self.batch_size = columns, batch_size
        self.count = len(columns["token_ids"])
        self.per_epoch = -(-self.count // batch_size)

    def after(self, done, *, shares=(0,), of=1, stop=None):
        def batches():
            number = done
            while number != stop:
                start = number % self.per_epoch * self.batch_size
                for share in shares:
                    places = range(start, min(start + self.batch_size, self.count))[share::of]
                    yield {name: column[list(places)] for name, column in self.columns.items()}
                number += 1

        specs = {name: tf.TensorSpec((None, *column.shape[1:]), column.dtype) for name, column in self.columns.items()}
        return tf.data.Dataset.from_generator(batches, output_signature=specs)

    def identity(self):
        columns = {name: column.tolist() for name, column in self.columns.items()}
        return {"columns": digest([json.dumps(columns).encode()]), "batch_size": self.batch_size}

    def epoch(self, number=0, **shares):
        return self.after(number * self.per_epoch, stop=(number + 1) * self.per_epoch, **shares)


def rows(count=128, seed=0, batch_size=16):
    """Is the second token from the upper half of the vocabulary?"""
    ids = np.random.default_rng(seed).integers(5, 30, (count, 8)).astype("int32")
    zeros, label = np.zeros_like(ids), (ids[:, 1] > 17).astype("int32")
    columns = {"token_ids": ids, "segment_ids": zeros, "padding_mask": zeros + 1, "label": label}
    return Rows(columns, batch_size)


def small_classifier(dropout=0.0):
    config = EncoderConfig(
        **SIZES, intermediate_size=32, dropout=dropout, attention_dropout=dropout, initializer_range=0.2
    )
    return build_classifier(build_encoder(config), 2, dropout=dropout)


BATCH = {"token_ids": np.array([[1, 1, 1, 2], [1, 3, 3, 0]], "int32"), "padding_mask": np.ones((2, 4), "int32")}


def linear():
    """A table; with `LinearObjective`, how often a token occurs is its gradient."""
    inputs = keras.Input((None,), dtype="int32", name="token_ids")
    return keras.Model(inputs, TokenEmbedding(5, 2)(inputs))


class LinearObjective:
    def weights(self, batch):
        return {"loss": tf.constant(16.0)}

    def __call__(self, model, batch, training):
        return {"loss": weighted(tf.cast(model(batch["token_ids"]), tf.float32), tf.ones((2, 4, 2)))}


def fit(steps, *, dropout=0.0, strategy=None, training=None, objective=None, seed=0, **options):
    keras.utils.set_random_seed(7)
    with (strategy or tf.distribute.get_strategy()).scope():
        model = small_classifier(dropout)
    # Compiling takes longer than these trainings.
    training = training or Training(learning_rate=3e-3, xla="off")
    trainer = Trainer(model, objective or ClassificationObjective(), training, steps, strategy)
    options = {"validation": rows(33, seed=1), "on_progress": lambda *_: None, "validations": 1, **options}
    return model, trainer.fit(rows(seed=seed, batch_size=16 // training.accumulation), **options)


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
        training = Training(learning_rate=1e-2, clip_norm=0.05, xla="off")
        histories = [fit(8, strategy=where, training=training, log_every=1)[1] for where in (None, both)]
        Path(folder, "devices.json").write_text(json.dumps(histories))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    code = f"import sys; from {__name__} import train_in_a_fresh_process as run; run(sys.argv[1])"
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
    training = Training(learning_rate=1e-3, warmup=0.5, xla="off")
    _, history = fit(10, training=training, log_every=4, validations=2, on_progress=lambda *news: told.append(news))
    assert [(done, total) for done, total, _ in told] == [(step, 10) for step in range(1, 11)]
    assert told[2][2] == ""
    assert told[-1][2].startswith("loss 0.")
    assert [entry["step"] for entry in history] == [4, 5, 8, 10]
    assert ["validation_accuracy" in entry for entry in history] == [False, True, False, True]
    assert [entry["learning_rate"] for entry in history] == pytest.approx([8e-4, 1e-3, 6e-4, 2e-4])
    assert history[0].keys() == {"step", "learning_rate", "loss", "accuracy", "gradient_norm"}


@pytest.mark.parametrize(("accumulation", "fresh"), [(1, [1, 1, 3, 3, 3, 3]), (2, [1, 2, 2, 2, 2, 2])])
def test_the_last_step_of_a_new_shape(accumulation, fresh):
    # Batches of 16, 16 and 8 rows.
    training, found = Training(batch_size=16 * accumulation, accumulation=accumulation, xla="off"), []
    trainer = Trainer(small_classifier(), ClassificationObjective(), training, 6)
    assert trainer.fresh_step == 0
    trainer.fit(
        rows(40), validation=rows(33, seed=1), on_progress=lambda *_: found.append(trainer.fresh_step), validations=0
    )
    assert found == fresh


def test_the_last_step_is_in_the_history_without_validation():
    _, history = fit(3, validations=0)
    assert [(entry["step"], "validation_loss" in entry) for entry in history] == [(3, False)]


def test_evaluation_weighs_every_row_alike():
    model = small_classifier(dropout=0.3)
    trainer = Trainer(model, ClassificationObjective(), Training(xla="off"), 1)
    whole, parts = trainer.evaluate(rows(33, batch_size=33)), trainer.evaluate(rows(33))
    assert parts == pytest.approx(whole, rel=1e-6)
    assert whole.keys() == {"loss", "accuracy"}
    inputs = rows(33).columns
    right = np.asarray(model({name: inputs[name] for name in model.input})).argmax(-1) == inputs["label"]
    assert whole["accuracy"] == pytest.approx(np.mean(right))


def test_a_step_against_numpy():
    # A repeated id, and gradients far beyond the norm: the table's gradient must be whole when it is clipped.
    model = linear()
    reference = ReferenceAdamW(model.get_weights(), [True], weight_decay=0.02, clip_norm=1e-6)
    training = Training(learning_rate=0.1, warmup=0, weight_decay=0.02, clip_norm=1e-6, xla="off")
    trainer = Trainer(model, LinearObjective(), training, 1)
    trainer.fit(Rows(BATCH, 2), validation=Rows(BATCH, 2), on_progress=lambda *_: None)
    counts = np.bincount(BATCH["token_ids"].ravel(), minlength=5)
    reference.apply([counts[:, None] / 16 * np.ones((1, 2))], 0.1)
    np.testing.assert_allclose(model.get_weights()[0], reference.weights[0], rtol=1e-4, atol=1e-7)


def test_weights_that_the_objective_does_not_use_stay():
    inputs = keras.Input((None,), dtype="int32", name="token_ids")
    used, unused = TokenEmbedding(5, 2, name="used"), TokenEmbedding(5, 2, name="unused")
    model = keras.Model(inputs, {"used": used(inputs), "unused": unused(inputs)})
    before = [layer.get_weights()[0] for layer in (used, unused)]

    class Objective(LinearObjective):
        def __call__(self, model, batch, training):
            return super().__call__(lambda ids: model(ids)["used"], batch, training)

    Trainer(model, Objective(), Training(xla="off"), 1).fit(
        Rows(BATCH, 2), validation=Rows(BATCH, 2), on_progress=lambda *_: None
    )
    assert not np.array_equal(used.get_weights()[0], before[0])
    np.testing.assert_array_equal(unused.get_weights()[0], before[1])


def test_a_learnable_problem_is_learnt():
    _, history = fit(150, training=Training(learning_rate=1e-2, xla="off"))
    assert history[0]["accuracy"] < 0.8
    assert history[-1]["validation_accuracy"] > 0.95
    assert history[-1]["validation_loss"] < 0.2


def test_nothing_to_validate_on():
    nothing = Rows({name: column[:0] for name, column in BATCH.items()}, 2)
    with pytest.raises(ValueError, match="at least one batch to evaluate on, got none"):
        Trainer(linear(), LinearObjective(), Training(xla="off"), 1).evaluate(nothing)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number(bad):
    class Objective(LinearObjective):
        def __call__(self, model, batch, training):
            total, weight = super().__call__(model, batch, training)["loss"]
            return {"loss": (tf.abs(total) * tf.where(batch["token_ids"][0, 0] == 4, bad, 1.0), weight)}

    batches = {name: np.concatenate([column] * 3) for name, column in BATCH.items()}
    batches["token_ids"][4:] = 4
    trainer = Trainer(linear(), Objective(), Training(learning_rate=0.01, warmup=0, xla="off"), 4)
    message = rf"loss is {bad} at step 3, batch 2: .* too high \(the learning rate was 0\.0067\)"
    with pytest.raises(NonFiniteLossError, match=message + "; the gradient's norm was .* the step before"):
        trainer.fit(Rows(batches, 2), validation=Rows(BATCH, 2), on_progress=lambda *_: None, validations=1)


def weights_after(steps, training, **options):
    model, history = fit(steps, training=training, **options)
    return model.get_weights(), history


@pytest.mark.parametrize("accumulation", [2, 16])
def test_parts_make_the_step_of_the_whole_batch(accumulation):
    # Parts of 8 rows and of one, weighed by class, so that their weights differ.
    weighed = ClassificationObjective((1.0, 5.0))
    whole, parts = (
        weights_after(5, Training(learning_rate=1e-3, clip_norm=0.05, accumulation=count, xla="off"), objective=weighed)
        for count in (1, accumulation)
    )
    for left, right in zip(whole[1], parts[1], strict=True):
        assert right == pytest.approx(left, rel=1e-5)
    for left, right in zip(whole[0], parts[0], strict=True):
        np.testing.assert_allclose(left, right, atol=1e-5)


def test_a_step_that_overflows_is_left_out_and_counted():
    class Overflowing(LinearObjective):
        def __call__(self, model, batch, training):
            total, weight = super().__call__(model, batch, training)["loss"]
            return {"loss": (total * tf.where(batch["token_ids"][0, 0] == 4, 1e35, 1.0), weight)}

    columns = {name: np.concatenate([column] * 3) for name, column in BATCH.items()}
    columns["token_ids"][2:4] = 4
    model, seen = linear(), []
    trainer = Trainer(model, Overflowing(), Training(learning_rate=0.01, warmup=0, precision="float16", xla="off"), 3)
    history = trainer.fit(
        Rows(columns, 2),
        validation=Rows(BATCH, 2),
        on_progress=lambda *_: seen.append(model.get_weights()[0]),
        log_every=1,
        validations=1,
    )
    assert [entry["skipped_steps"] for entry in history] == [0, 1, 1]
    assert [entry["loss_scale"] for entry in history] == [2**15, 2**14, 2**14]
    np.testing.assert_array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[1], seen[2])


def test_the_running_mean_of_the_weights():
    model, seen = linear(), []
    start = model.get_weights()[0]
    trainer = Trainer(model, LinearObjective(), Training(learning_rate=0.1, warmup=0, ema=0.3, xla="off"), 4)
    trainer.fit(
        Rows(BATCH, 2),
        validation=Rows(BATCH, 2),
        on_progress=lambda *_: seen.append(trainer.arrays()["model/0"]),
        validations=0,
    )
    mean = start
    for number, weights in enumerate(seen, start=1):
        decay = min(0.3, (1 + number) / (10 + number))
        mean = decay * mean + (1 - decay) * weights
    np.testing.assert_allclose(model.get_weights()[0], mean, rtol=1e-5)
    assert not np.allclose(seen[-1], mean, rtol=1e-3)


def test_validation_is_of_the_mean_weights():
    model, history = fit(3, training=Training(learning_rate=1e-2, ema=0.9, xla="off"), validations=1)
    found = Trainer(model, ClassificationObjective(), Training(xla="off"), 1).evaluate(rows(33, seed=1))
    assert found["loss"] == pytest.approx(history[-1]["validation_loss"], rel=1e-6)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_other_precisions_train_alike_and_leave_float32(precision, tmp_path):
    exact, rough = (
        weights_after(8, Training(learning_rate=3e-3, precision=kind, xla="off"), log_every=1)
        for kind in ("float32", precision)
    )
    losses = [[entry["loss"] for entry in history] for _, history in (exact, rough)]
    assert losses[1] != losses[0]
    np.testing.assert_allclose(losses[1], losses[0], atol=0.03)
    assert all(weight.dtype == np.float32 for weight in rough[0])
    model, _ = fit(1, training=Training(precision=precision, xla="off"))
    save_model(model, tmp_path / "rough.keras")
    assert {layer.dtype_policy.name for layer in load_model(tmp_path / "rough.keras").layers} == {"float32"}


@pytest.mark.parametrize("xla", ["parts", "whole"])
def test_xla_trains_alike(xla):
    plain, compiled = (weights_after(4, Training(learning_rate=3e-3, xla=kind), log_every=1) for kind in ("off", xla))
    for left, right in zip(plain[1], compiled[1], strict=True):
        assert right == pytest.approx(left, abs=1e-5)


def train_as_one_of_two_workers(index: str, ports: str, folder: str) -> None:
    """One of the processes of a cluster on this machine; writes what it found."""
    workers = [f"localhost:{port}" for port in ports.split(",")]
    os.environ["TF_CONFIG"] = json.dumps(
        {"cluster": {"worker": workers}, "task": {"type": "worker", "index": int(index)}}
    )
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    make_deterministic(3)
    training = Training(learning_rate=1e-2, clip_norm=0.05, accumulation=2, ema=0.5, xla="off")
    model, history = fit(6, strategy=strategy, training=training, log_every=1, validations=2)
    np.savez(Path(folder, f"{index}.npz"), *model.get_weights())
    write_history(history, Path(folder, f"{index}.jsonl"))
    devices = Devices(strategy)
    agreed = [devices.largest(float(index)), *devices.any_worker(index == "1", False)]
    own = Path(folder, f"checkpoints-{index}")
    fit(2, strategy=strategy, checkpoints=own)
    if index == "1":
        shutil.rmtree(own)
    with pytest.raises(CheckpointError) as refused:
        fit(2, strategy=strategy, checkpoints=own)
    said = {"workers": devices.workers, "chief": devices.is_chief, "agreed": agreed, "refused": str(refused.value)}
    Path(folder, f"{index}.json").write_text(json.dumps(said))


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def test_two_workers_train_like_one(tmp_path):
    code = f"import sys; from {__name__} import train_as_one_of_two_workers as run; run(*sys.argv[1:])"
    ports = ",".join(map(str, free_ports(2)))
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(index), ports, str(tmp_path)], stderr=subprocess.PIPE)
        for index in range(2)
    ]
    try:
        errors = [process.communicate(timeout=240)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], errors[0][-3000:]
    make_deterministic(3)
    training = Training(learning_rate=1e-2, clip_norm=0.05, accumulation=2, ema=0.5, xla="off")
    model, history = fit(6, training=training, log_every=1, validations=2)
    for index in range(2):
        for left, right in zip(history, map(json.loads, (tmp_path / f"{index}.jsonl").open()), strict=True):
            assert right == pytest.approx(left, abs=1e-4)
        with np.load(tmp_path / f"{index}.npz") as arrays:
            for left, right in zip(model.get_weights(), arrays.values(), strict=True):
                np.testing.assert_allclose(right, left, atol=1e-4)
        assert json.loads((tmp_path / f"{index}.json").read_text()) == {
            "workers": 2,
            "chief": index == 0,
            "agreed": [1.0, True, False],
            "refused": f"all workers must have the checkpoint of one step, but here it is that of {(2, 0)[index]}",
        }
