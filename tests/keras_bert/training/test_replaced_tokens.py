"""Two models trained in one step: interrupted, in parts, rounded, on two devices. Eager: to trace takes long."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.fused.pretraining import FusedReplacedTokensObjective
from keras_bert.objectives.pretraining import ReplacedTokensObjective
from keras_bert.options.pretraining import Generator
from keras_bert.options.training import Training
from keras_bert.training.seeds import make_deterministic
from keras_bert.training.step import TrainingStep
from keras_bert.training.trainer import Trainer
from tests import forked
from tests.keras_bert.models.test_replaced_tokens import CONFIG, make_joint
from tests.keras_bert.training.small import Killed, Rows, stop_after

GENERATOR = Generator(size=0.5, sharing="gradient_disentangled", weight=5.0)
DROPPING = type(CONFIG)(**{**vars(CONFIG), "dropout": 0.2})
STEPS = 3
pytestmark = pytest.mark.usefixtures("eager")


def make_rows(batch_size, count=16):
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 20, (count, 8)).astype("int32")
    positions = np.sort(rng.permuted(np.tile(np.arange(1, 7), (count, 1)), axis=1)[:, :2]).astype("int32")
    columns = {"mask_positions": positions, "mask_ids": np.take_along_axis(ids, positions, 1)}
    columns["mask_weights"] = np.ones((count, 2), "float32")
    np.put_along_axis(ids, positions, 4, axis=1)
    zeros = np.zeros_like(ids)
    return Rows({"token_ids": ids, "segment_ids": zeros, "padding_mask": zeros + 1, **columns}, batch_size)


def make_step(config=DROPPING, strategy=None, **settings):
    training = Training(**{"learning_rate": 1e-2, "batch_size": 8, "xla": "off", **settings})
    with (strategy or tf.distribute.get_strategy()).scope():
        joint = make_joint(GENERATOR.sharing, config)
        fused = training.xla == "parts"
        objective = FusedReplacedTokensObjective(joint, GENERATOR) if fused else ReplacedTokensObjective(GENERATOR)
    return TrainingStep(joint, objective, training, STEPS, strategy)


def fit(step, stop=None, **options):
    rows, held_out = make_rows(step.training.micro_batch_size), make_rows(5, count=10)
    options = {"log_every": 1, "validations": 2, "checkpoint_seconds": 0.0, **options}
    return Trainer(step, rows, validation=held_out, on_progress=stop_after(stop), **options).fit()


@pytest.mark.long
def test_killed_and_started_again_the_bits_are_the_same(tmp_path):
    step = make_step(accumulation=2, ema=0.8, precision="bfloat16")
    begin = step.arrays()
    history, whole = fit(step), step.arrays()
    step.set_arrays(begin)
    with pytest.raises(Killed):
        fit(step, 2, checkpoints=tmp_path)
    step.set_arrays(begin)
    assert fit(step, checkpoints=tmp_path) == history
    for name, array in step.arrays().items():
        np.testing.assert_array_equal(array, whole[name], err_msg=name)
    metrics = {"masked_accuracy", "replaced_accuracy", "validation_masked_loss", "validation_replaced_loss"}
    assert metrics <= history[-1].keys()
    assert any("validation_replaced_recall" in entry for entry in history)


def test_the_state_of_what_draws_is_what_a_checkpoint_must_hold():
    # Without it the steps after an interruption draw other tokens.
    step, batches = make_step(CONFIG), [*itertools.islice(make_rows(8).after(0), 2)]
    step.step(batches[:1], 1)
    kept, sums = step.arrays(), []
    for is_forgotten in (False, False, True):
        step.set_arrays(kept)
        if is_forgotten:
            state = step.model.get_layer("token_replacement").seed_generator.state
            state.assign(state - np.array([0, 1]))
        actual_sums, _ = step.step(batches[1:], 2)
        sums.append(float(actual_sums[0]["replaced_loss"][0]))
    assert sums[0] == sums[1] != sums[2]


def train_on_two_devices(folder):
    """In a process of its own: devices can be made only before TensorFlow has begun."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    make_deterministic(3)
    tf.config.run_functions_eagerly(True)
    both = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    histories = [fit(make_step(CONFIG, where)) for where in (None, both)]
    Path(folder, "devices.json").write_text(json.dumps(histories))


@pytest.mark.long
def test_two_devices_train_like_one(tmp_path):
    forked.run(train_on_two_devices, str(tmp_path))
    one, two = json.loads((tmp_path / "devices.json").read_text())
    assert len(one) == len(two) == STEPS
    for left, right in zip(one, two, strict=True):
        assert right == pytest.approx(left, abs=1e-4)
