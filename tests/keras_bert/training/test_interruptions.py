import errno
import functools
import json
import math
import os
import signal
import time
import types
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert.training.checkpoints
from keras_bert.data.batches import Phases
from keras_bert.data.pretraining_batches import pretraining_batches
from keras_bert.objectives.pretraining import PretrainingObjective
from keras_bert.objectives.tasks import ClassificationObjective, RegressionObjective
from keras_bert.options.training import Training
from keras_bert.training import trainer as training_trainer
from keras_bert.training.checkpoints import CheckpointError
from keras_bert.training.history import write_history
from keras_bert.training.seeds import make_deterministic
from keras_bert.training.step import TrainingStep
from keras_bert.training.trainer import NonFiniteLossError, StoppedError, Trainer, entry_steps, validation_steps
from tests import forked
from tests.keras_bert.data.rows import write_dynamic_rows
from tests.keras_bert.training import small
from tests.keras_bert.training.small import (
    BATCH,
    Killed,
    LinearObjective,
    Rows,
    bag_of_tokens,
    linear,
    masked_model,
    rows,
    stop_after,
)

STEPS = 12
fit = functools.partial(small.fit, build=bag_of_tokens)
pytestmark = pytest.mark.usefixtures("interruptible")
EVERY_STEP = {"log_every": 1, "checkpoint_seconds": 0.0}


@functools.cache
def undisturbed(training, **options):
    """Weights and history of a training that runs through."""
    model, history = fit(STEPS, training=training, dropout=0.2, **options)
    return model.get_weights(), history


def assert_equal_bits(model, weights):
    for left, right in zip(model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(left, right)


PLAIN = Training(learning_rate=3e-3, xla="off")


@pytest.mark.parametrize(
    ("training", "options"),
    [
        (PLAIN, {}),
        (Training(learning_rate=3e-3, accumulation=4, ema=0.8, layer_decay=0.7, xla="off"), {"validations": 5}),
        (Training(learning_rate=3e-2, xla="off"), {"validations": 6, "select": ("validation_loss",), "patience": 5}),
        (PLAIN, {"validations": 2, "select": ("validation_loss",), "compare_start": True}),
        (Training(learning_rate=3e-3, precision="float16", xla="off"), {"log_every": 5}),
    ],
    ids=["plain", "parts and mean", "selection", "mean with the start", "float16"],
)
def test_killed_and_started_again_the_weights_are_the_same_bits(tmp_path, training, options):
    options = {**EVERY_STEP, **options}
    weights, history = undisturbed(training, **options)
    again = {"dropout": 0.2, "training": training, **options}
    # The last kill comes before anything new was saved.
    for stop in (5, 7, 7):
        with pytest.raises(Killed):
            fit(STEPS, checkpoints=tmp_path, on_progress=stop_after(stop), **again)
    model, resumed = fit(STEPS, checkpoints=tmp_path, **again)
    assert resumed == history
    assert_equal_bits(model, weights)


def test_what_was_finished_is_not_trained_again(tmp_path):
    first = fit(4, checkpoints=tmp_path)
    again = fit(4, checkpoints=tmp_path, on_progress=stop_after(4))
    assert again[1] == first[1]
    np.testing.assert_array_equal(first[0].get_weights()[0], again[0].get_weights()[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_with_a_checkpoint(tmp_path, number):
    options = {"dropout": 0.2, "training": PLAIN, "log_every": 5}
    with pytest.raises(StoppedError) as stopped:
        fit(STEPS, checkpoints=tmp_path, on_progress=stop_after(3, lambda: os.kill(os.getpid(), number)), **options)
    (file,) = tmp_path.iterdir()
    assert str(stopped.value) == (
        f"{number.name} after step 3 of 12: start the same training again, and it goes on from {file}"
    )
    weights, history = undisturbed(PLAIN, log_every=5)
    model, resumed = fit(STEPS, checkpoints=tmp_path, **options)
    assert resumed == history
    assert_equal_bits(model, weights)


def test_signals_after_the_last_step_and_without_a_place_for_checkpoints():
    with pytest.raises(KeyboardInterrupt):
        fit(3, on_progress=stop_after(3, lambda: os.kill(os.getpid(), signal.SIGINT)))
    with pytest.raises(StoppedError, match="SIGTERM after step 3 of 12: there is no folder for checkpoints"):
        fit(STEPS, on_progress=stop_after(3, lambda: os.kill(os.getpid(), signal.SIGTERM)))


def test_a_corrupt_checkpoint_falls_back_to_the_one_before(tmp_path, caplog):
    options = {"dropout": 0.2, "training": PLAIN, **EVERY_STEP}
    with pytest.raises(Killed):
        fit(STEPS, checkpoints=tmp_path, on_progress=stop_after(6), **options)
    older, newest = sorted(tmp_path.iterdir())
    newest.write_bytes(newest.read_bytes()[:-100])
    weights, history = undisturbed(PLAIN, **EVERY_STEP)
    model, resumed = fit(STEPS, checkpoints=tmp_path, **options)
    assert f"{newest} is damaged; going back to the one before it" in caplog.text
    assert older.name.startswith("000000004-")
    assert resumed == history
    assert_equal_bits(model, weights)


@pytest.mark.parametrize(("seconds", "expected"), [(5.0, [5, 12]), (0.0, [*range(1, 12), 12])])
def test_what_takes_long_to_save_is_saved_less_often(tmp_path, monkeypatch, seconds, expected):
    now, saved = [0.0], []

    def save(trainer, checkpoints):
        saved.append(trainer._progress.step)
        now[0] += 1.0

    def tick(*_):
        now[0] += 1.0

    monkeypatch.setattr(training_trainer, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(Trainer, "_save", save)
    fit(12, checkpoints=tmp_path, checkpoint_seconds=seconds, on_progress=tick)
    assert saved == expected


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Checkpoints of a training that was killed; whoever is refused changes nothing there."""
    folder = tmp_path_factory.mktemp("interrupted")
    with pytest.raises(Killed):
        fit(STEPS, checkpoints=folder, on_progress=stop_after(6), **EVERY_STEP)
    files = {file: file.read_bytes() for file in folder.iterdir()}
    yield folder
    assert {file: file.read_bytes() for file in folder.iterdir()} == files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"training": Training(learning_rate=1e-5, xla="off")}, "Training.learning_rate was 0.003 and is 1e-05"),
        ({"steps": 7}, "steps was 12 and is 7"),
        ({"log_every": 2}, "log_every was 1 and is 2"),
        ({"seed": 5}, "batches.columns was [0-9a-f]{16} and is [0-9a-f]{16}"),
        ({"validation": rows(33, seed=2)}, "validation.columns was [0-9a-f]{16} and is [0-9a-f]{16}"),
        ({"objective": RegressionObjective()}, "objective.class was ClassificationObjective and is RegressionObj"),
        ({"objective": ClassificationObjective((1.0, 5.0))}, r"objective.class_weights was None and is \[1.0, 5.0\]"),
    ],
)
def test_a_checkpoint_of_another_training(interrupted, change, message):
    arguments = {"steps": STEPS, **EVERY_STEP, **change}
    with pytest.raises(CheckpointError, match=f"must hold checkpoints of this training, but {message}"):
        fit(**arguments, checkpoints=interrupted)


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [({}, {"records": 7}, "records was unknown and is 7"), ({"records": 7}, {}, "records was 7 and is unknown")],
)
def test_a_checkpoint_that_tells_less_or_more(tmp_path, monkeypatch, then, now, message):
    monkeypatch.setattr(Rows, "identity", lambda _: then)
    with pytest.raises(Killed):
        fit(STEPS, checkpoints=tmp_path, on_progress=stop_after(6), **EVERY_STEP)
    monkeypatch.setattr(Rows, "identity", lambda _: now)
    with pytest.raises(CheckpointError, match=f"but batches.{message}; take another folder"):
        fit(STEPS, checkpoints=tmp_path, **EVERY_STEP)


def test_a_finished_training_on_other_records_is_another(tmp_path):
    def train(folder):
        keras.utils.set_random_seed(0)
        model = masked_model()
        batches = pretraining_batches(folder, "train", 8, seed=3, shuffle=True)
        step = TrainingStep(model, PretrainingObjective(next_sentence=False), Training(batch_size=8, xla="off"), 2)
        options = {"on_progress": lambda *_: None, "checkpoints": tmp_path / "checkpoints"}
        Trainer(step, Phases(batches, 1, batches), validation=batches, **options).fit()
        return model.get_weights()[0]

    for seed, name in enumerate(("one", "other")):
        (tmp_path / name).mkdir()
        write_dynamic_rows(tmp_path / name, seed=seed)
    weights = train(tmp_path / "one")
    (tmp_path / "one").rename(tmp_path / "moved")
    np.testing.assert_array_equal(train(tmp_path / "moved"), weights)
    with pytest.raises(CheckpointError, match=r"but batches\.first\.records was [0-9a-f]{16} and is"):
        train(tmp_path / "other")


def test_a_checkpoint_of_another_model(interrupted):
    inputs = keras.Input((None,), dtype="int32", name="token_ids")
    other = keras.Model(inputs, keras.layers.Embedding(3, 2)(inputs))
    step = TrainingStep(other, ClassificationObjective(), Training(learning_rate=3e-3, xla="off"), STEPS)
    options = {"on_progress": lambda *_: None, "validations": 1, "log_every": 1, "checkpoints": interrupted}
    with pytest.raises(CheckpointError, match="but the model's digest was"):
        Trainer(step, rows(), validation=rows(), **options).fit()


def test_a_disk_that_fills_up_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    weights, _ = undisturbed(PLAIN, **EVERY_STEP)
    options = {"dropout": 0.2, "training": PLAIN, **EVERY_STEP}
    save, saved = keras_bert.training.checkpoints.save_file, []

    def fill(arrays, file, **options):
        saved.append(file)
        if len(saved) == 4:
            Path(file).write_bytes(b"the beginning")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        save(arrays, file, **options)

    monkeypatch.setattr("keras_bert.training.checkpoints.save_file", fill)
    with pytest.raises(OSError, match=rf"No space left on device: .*{tmp_path}/000000004-.*.partial"):
        fit(STEPS, checkpoints=tmp_path, **options)
    assert [file.name[:10] for file in sorted(tmp_path.iterdir())] == ["000000002-", "000000003-"]
    model, _ = fit(STEPS, checkpoints=tmp_path, **options)
    assert_equal_bits(model, weights)


def fit_with_validations(monkeypatch, entries, *, ema=0.0, compare_start=False):
    """A model after 5 steps, whose validations have these values, and its weights before and after each step."""
    values, model = iter(entries), bag_of_tokens()
    seen = {0: model.get_weights()}
    step = TrainingStep(model, ClassificationObjective(), Training(learning_rate=3e-3, xla="off", ema=ema), 5)
    monkeypatch.setattr(step, "evaluate", lambda _: next(values))
    trainer = Trainer(
        step,
        rows(),
        validation=rows(33, seed=1),
        on_progress=lambda number, *_: seen.update({number: list(step.weights().values())}),
        validations=5,
        select=tuple(f"validation_{name}" for name in entries[0]),
        compare_start=compare_start,
    )
    trainer.fit()
    return model, seen


@pytest.mark.parametrize(
    ("metric", "first", "means", "best"),
    [
        ("loss", 0.5, (0.5, 0.5), 3),
        ("absolute_error", 0.5, (0.5, 0.5), 3),
        ("accuracy", 0.5, (0.5, 0.5), 2),
        ("gap", 0.5, (0.5, 0.5), 2),
        ("loss", 0.1, (0.5, 0.5), 0),
        ("loss", 0.25, (0.5, 0.5), 3),
        ("loss", 0.5, (0.25, 0.3), "half"),
        ("loss", 0.25, (0.3, 0.25), "most"),
        ("accuracy", 0.5, (0.75, 0.75), "most"),
        ("accuracy", 0.5, (0.8, 0.75), "half"),
        ("accuracy", 0.8, (0.75, 0.75), 0),
    ],
)
@pytest.mark.parametrize("ema", [0.0, 0.5])
def test_the_best_weights_are_kept(monkeypatch, metric, first, means, best, ema):
    entries = [{metric: value} for value in (first, 0.5, 0.75, 0.25, 0.25, 0.5, *means)]
    model, seen = fit_with_validations(monkeypatch, entries, ema=ema, compare_start=True)
    for name, share in (("half", 0.5), ("most", 0.75)):
        pairs = zip(seen[0], seen[5], strict=True)
        seen[name] = [(1 - share) * start + share * last for start, last in pairs]
    for left, right, last in zip(model.get_weights(), seen[best], seen[5], strict=True):
        np.testing.assert_array_equal(left, right)
        assert not np.array_equal(left, last)


def test_the_mean_of_several_metrics_chooses(monkeypatch):
    """The best accuracy is after step 2 and the least loss after step 5; together step 4 is best."""
    values = zip([0.5, 0.9, 0.7, 0.8, 0.5], [0.9, 0.8, 0.5, 0.3, 0.2], strict=True)
    entries = [{"a_accuracy": accuracy, "b_loss": loss} for accuracy, loss in values]
    model, seen = fit_with_validations(monkeypatch, entries)
    for weight, expected in zip(model.get_weights(), seen[4], strict=True):
        np.testing.assert_array_equal(weight, expected)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number(bad):
    class Objective(LinearObjective):
        def __call__(self, model, batch, training):
            total, weight = super().__call__(model, batch, training)["loss"]
            return {"loss": (tf.abs(total) * tf.where(batch["token_ids"][0, 0] == 4, bad, 1.0), weight)}

    batches = {name: np.concatenate([column] * 3) for name, column in BATCH.items()}
    batches["token_ids"][4:] = 4
    step = TrainingStep(linear(), Objective(), Training(learning_rate=0.01, warmup=0, xla="off"), 4)
    trainer = Trainer(step, Rows(batches, 2), validation=Rows(BATCH, 2), on_progress=lambda *_: None, validations=1)
    message = rf"loss is {bad} at step 3, batch 2: .* too high \(the learning rate was 0\.0067\)"
    with pytest.raises(NonFiniteLossError, match=message + "; the gradient norm before was ."):
        trainer.fit()


def test_patience_ends_what_gets_no_better():
    training = Training(learning_rate=1e-30, xla="off")
    _, history = fit(STEPS, training=training, validations=6, select=("validation_loss",), patience=2)
    assert history[-1]["step"] == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"select": ("validation_los",)},
            r"fit.select must be one of \['validation_loss', 'validation_accuracy'\], got",
        ),
        ({"patience": 2}, r"fit.select must be given if patience is given, got \(\)"),
        ({"select": ("validation_loss",), "patience": 0}, "fit.patience must be at least 1, got 0"),
        ({"log_every": 0}, "fit.log_every must be at least 1, got 0"),
        ({"validations": -1}, "fit.validations must not be negative, got -1"),
        ({"checkpoint_seconds": -1.0}, "fit.checkpoint_seconds must not be negative, got -1.0"),
        ({"checkpoint_seconds": math.inf}, "fit.checkpoint_seconds must be a finite number, got inf"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        fit(2, **options)


def test_the_record_of_a_training_that_goes_on(tmp_path):
    options = {"record": tmp_path / "record", "checkpoints": tmp_path / "checkpoints", **EVERY_STEP}
    with pytest.raises(Killed):
        fit(4, on_progress=stop_after(3), **options)
    fit(4, **options)
    lines = [json.loads(line) for line in (tmp_path / "record" / "history.jsonl").open()]
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    assert lines[-1]["tokens_per_second"] > 0
    assert 0 <= lines[-1]["waiting_share"] <= 1


def pretrain_in_a_fresh_process(folder, checkpoints, name):
    """Rows of two lengths with tokens hidden again each epoch, dropout, and batches in two parts."""
    make_deterministic(5)
    model = masked_model()
    training = Training(learning_rate=3e-3, batch_size=8, accumulation=2)
    short, long = (
        pretraining_batches(Path(folder, length), "train", training.micro_batch_size, seed=3, shuffle=True)
        for length in ("short", "long")
    )
    trainer = Trainer(
        TrainingStep(model, PretrainingObjective(next_sentence=False), training, 30),
        Phases(short, 40, long),
        validation=long,
        on_progress=lambda step, *_: (Path(folder, f"{name}.step").write_text(str(step)), time.sleep(0.02)),
        validations=3,
        log_every=3,
        checkpoints=Path(checkpoints) if checkpoints else None,
        checkpoint_seconds=0.0,
    )
    history = trainer.fit()
    np.savez(Path(folder, f"{name}.npz"), *model.get_weights())
    write_history(history, Path(folder, f"{name}.jsonl"))


@pytest.mark.long
def test_kill_minus_nine_at_random_steps(tmp_path):
    for length in ("short", "long"):
        (tmp_path / length).mkdir()
        write_dynamic_rows(tmp_path / length, seed=len(length))

    def start(name, checkpoints=""):
        return forked.start(pretrain_in_a_fresh_process, str(tmp_path), str(checkpoints), name)

    undisturbed = start("undisturbed")
    step = tmp_path / "killed.step"
    for stop in np.sort(np.random.default_rng(0).integers(1, 25, 2)):
        process = start("killed", tmp_path / "checkpoints")
        while process.is_alive() and not (step.exists() and int(step.read_text() or 0) >= stop):
            time.sleep(0.005)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, f"ended before step {stop}"
    last = start("killed", tmp_path / "checkpoints")
    for process in (last, undisturbed):
        process.join()
        assert process.exitcode == 0
    assert (tmp_path / "killed.jsonl").read_bytes() == (tmp_path / "undisturbed.jsonl").read_bytes()
    with np.load(tmp_path / "killed.npz") as killed, np.load(tmp_path / "undisturbed.npz") as whole:
        assert len(killed.files) == len(whole.files) > 10
        for name in whole.files:
            np.testing.assert_array_equal(killed[name], whole[name])


@pytest.mark.parametrize(("steps", "validations"), [(94, 2), (36, 4), (6, 2), (1000, 3), (3000, 4), (50, 0)])
def test_entries_are_even_and_validations_are_among_them(steps, validations):
    entries = sorted(entry_steps(steps, validations, None))
    windows = {after - before for before, after in zip([0, *entries], entries, strict=False)}
    assert max(windows) - min(windows) <= 1
    assert max(windows) <= 50
    assert len(entries) >= min(20, steps)
    assert entries[-1] == steps
    assert validation_steps(steps, validations) <= set(entries)


def test_a_training_that_fails_records_its_last_steps(tmp_path):
    def fail():
        raise ArithmeticError("made up")

    with pytest.raises(ArithmeticError):
        fit(8, log_every=4, record=tmp_path, on_progress=stop_after(6, fail))
    entries = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries] == [4, 6]
    assert entries[1]["loss"] > 0
