import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.models.saving import save_model
from keras_bert.objectives.tasks import ClassificationObjective
from keras_bert.options.training import Training
from keras_bert.training.checkpoints import CheckpointError
from keras_bert.training.devices import Devices, LostWorkerError, find_strategy
from keras_bert.training.history import write_history
from keras_bert.training.seeds import make_deterministic
from keras_bert.training.step import TrainingStep
from tests import forked
from tests.keras_bert.training.small import bag_of_tokens, fit, rows
from tests.processes import free_port


def train_in_a_fresh_process(folder):
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


@pytest.mark.long
@pytest.mark.parametrize("name", ["model.keras", "history.jsonl"])
def test_two_processes_give_equal_bytes_with_dropout_on(trained, name):
    assert (trained / "first" / name).read_bytes() == (trained / "second" / name).read_bytes()


@pytest.mark.long
def test_two_devices_train_like_one(trained):
    one, two = json.loads((trained / "first" / "devices.json").read_text())
    assert len(one) == len(two) == 8
    for left, right in zip(one, two, strict=True):
        assert right == pytest.approx(left, abs=1e-4)


def test_steps_progress_and_history():
    messages = []
    training = Training(learning_rate=1e-3, warmup=0.5, xla="off")
    _, history = fit(10, training=training, log_every=4, validations=2, on_progress=lambda *news: messages.append(news))
    assert [(done, total) for done, total, _ in messages] == [(step, 10) for step in range(1, 11)]
    assert messages[2][2] == ""
    assert messages[-1][2].startswith("loss 0.")
    assert [entry["step"] for entry in history] == [4, 5, 8, 10]
    assert ["validation_accuracy" in entry for entry in history] == [False, True, False, True]
    assert [entry["learning_rate"] for entry in history] == pytest.approx([8e-4, 1e-3, 6e-4, 2e-4])
    assert history[0].keys() == {"step", "learning_rate", "loss", "accuracy", "gradient_norm"}


def test_the_last_step_is_in_the_history_and_validation_of_the_mean_weights():
    _, history = fit(3, validations=0)
    assert [(entry["step"], "validation_loss" in entry) for entry in history] == [(1, False), (2, False), (3, False)]
    model, history = fit(3, training=Training(learning_rate=1e-2, ema=0.9, xla="off"), validations=1)
    metrics = TrainingStep(model, ClassificationObjective(), Training(xla="off"), 1).evaluate(rows(33, seed=1))
    assert metrics["loss"] == pytest.approx(history[-1]["validation_loss"], rel=1e-6)


def test_a_learnable_problem_is_learnt():
    _, history = fit(150, training=Training(learning_rate=1e-2, xla="off"))
    assert history[0]["accuracy"] < 0.8
    assert history[-1]["validation_accuracy"] > 0.95
    assert history[-1]["validation_loss"] < 0.2


def train_as_one_of_two_workers(index, ports, folder):
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
    checkpoints = Path(folder, f"checkpoints-{index}")
    fit(2, build=bag_of_tokens, strategy=strategy, checkpoints=checkpoints)
    assert checkpoints.exists() == (index == "0")  # the chief alone writes
    with pytest.raises(CheckpointError) as refused:
        fit(2, build=bag_of_tokens, strategy=strategy, checkpoints=checkpoints)
    said = {"workers": devices.workers, "chief": devices.is_chief, "agreed": agreed, "refused": str(refused.value)}
    Path(folder, f"{index}.json").write_text(json.dumps(said))


def run_two_workers(train, folder, *arguments):
    folder.mkdir(exist_ok=True)
    ports = f"{free_port()},{free_port()}"
    processes = [forked.start(train, str(index), ports, str(folder), *arguments) for index in range(2)]
    try:
        for process in processes:
            process.join(240)
    finally:
        for process in processes:
            process.kill()
    return [process.exitcode for process in processes]


@pytest.mark.long
def test_two_workers_train_like_one(tmp_path):
    assert run_two_workers(train_as_one_of_two_workers, tmp_path) == [0, 0]
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
            "refused": "all workers must read the checkpoints of one folder, but here the newest is of step "
            f"{(2, 0)[index]}, and that of another of step {(0, 2)[index]}; share it, or delete it to start over",
        }


def train_until_killed(index, ports, folder, last):
    """One of two workers that train with dropout, on checkpoints of one folder; worker 1 is killed after a step."""
    workers = [f"localhost:{port}" for port in ports.split(",")]
    task = {"type": "worker", "index": int(index)}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
    strategy = find_strategy()
    make_deterministic(3)

    def kill(step, steps, note):
        if index == "1" and step == int(last):
            os._exit(9)

    training = Training(learning_rate=1e-2)
    options = {"strategy": strategy, "training": training, "dropout": 0.2, "log_every": 1, "on_progress": kill}
    try:
        model, _ = fit(8, checkpoints=Path(folder, "checkpoints"), checkpoint_seconds=0, **options)
    except LostWorkerError:
        sys.exit(4)
    np.savez(Path(folder, f"{index}.npz"), *model.get_weights())


@pytest.mark.long
def test_a_killed_worker_changes_no_bit_of_the_weights(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run_two_workers(train_until_killed, whole, "0") == [0, 0]
    assert run_two_workers(train_until_killed, killed, "5") == [4, 9]
    assert max(int(file.name[:9]) for file in (killed / "checkpoints").iterdir()) in (4, 5)
    assert run_two_workers(train_until_killed, killed, "0") == [0, 0]
    for index in range(2):
        with np.load(whole / "0.npz") as expected, np.load(killed / f"{index}.npz") as weights:
            assert [array.tobytes() for array in weights.values()] == [array.tobytes() for array in expected.values()]
