import math

import keras
import numpy as np
import pytest

from keras_bert.models.encoder import build_encoder
from keras_bert.models.optimizer import LayerwiseAdamW, WarmupDecay, adamw
from keras_bert.models.pretraining import build_pretraining
from tests.keras_bert.tiny import tiny_config


@pytest.mark.parametrize(
    ("steps", "warmup", "expected"),
    [
        (10, 0.2, [0.5, 1, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]),
        (4, 0.0, [1, 1, 2 / 3, 1 / 3]),
        (4, 1.0, [0.25, 0.5, 0.75, 1]),
        (5, 0.5, [0.4, 0.8, 1, 0.8, 0.4]),
        (1, 0.1, [1]),
    ],
)
def test_schedule(steps, warmup, expected):
    schedule = WarmupDecay(2.0, steps, warmup)
    np.testing.assert_allclose([schedule(step) for step in range(steps)], 2 * np.array(expected), rtol=1e-6)
    # What comes after the last step, or a schedule made again, changes nothing.
    assert float(schedule(steps)) == float(schedule(steps + 5)) == 0
    assert WarmupDecay.from_config(schedule.get_config()).get_config() == schedule.get_config()


@pytest.mark.parametrize(
    ("decay", "expected"),
    [("cosine", [0.5, 1, 1, 0.8535534, 0.5, 0.1464466]), ("polynomial", [0.5, 1, 1, 0.421875, 0.125, 0.015625])],
)
def test_other_decays(decay, expected):
    schedule = WarmupDecay(3.0, 6, 1 / 3, decay, power=3.0)
    np.testing.assert_allclose([schedule(step) for step in range(6)], 3 * np.array(expected), rtol=1e-5)
    assert float(schedule(6)) == 0


def test_refuses_unknown_decay():
    with pytest.raises(ValueError, match=r"WarmupDecay.decay must be one of \('linear', .*, got 'cosin'"):
        WarmupDecay(1.0, 5, 0.1, "cosin")


class ReferenceAdamW:
    """AdamW in float64 (Loshchilov and Hutter 2019, algorithm 2), after clipping by the global norm."""

    def __init__(self, weights, decayed, *, weight_decay, clip_norm):
        self.weights = [weight.astype("float64") for weight in weights]
        self.decayed, self.weight_decay, self.clip_norm = decayed, weight_decay, clip_norm
        self.first = [np.zeros_like(weight) for weight in self.weights]
        self.second = [np.zeros_like(weight) for weight in self.weights]
        self.step = 0

    def apply(self, gradients, learning_rate):
        self.step += 1
        norm = np.sqrt(sum(np.sum(gradient.astype("float64") ** 2) for gradient in gradients))
        scale = min(1.0, self.clip_norm / norm)
        for index, gradient in enumerate(gradients):
            self.first[index] = 0.9 * self.first[index] + 0.1 * scale * gradient
            self.second[index] = 0.999 * self.second[index] + 0.001 * (scale * gradient) ** 2
            correction = np.sqrt(1 - 0.999**self.step) / (1 - 0.9**self.step)
            update = correction * self.first[index] / (np.sqrt(self.second[index]) + 1e-6)
            decay = self.weight_decay * self.weights[index] if self.decayed[index] else 0.0
            self.weights[index] = self.weights[index] - learning_rate * (update + decay)


@pytest.mark.parametrize("clip_norm", [1e-4, 1.0, 100.0])
def test_steps_against_numpy(clip_norm):
    rng = np.random.default_rng(0)
    names = ["embeddings", "kernel", "bias", "gamma", "beta"]
    shapes = [(7, 3), (3, 4), (4,), (4,), (4,)]
    variables = [keras.Variable(rng.normal(size=shape), name=name) for name, shape in zip(names, shapes, strict=True)]
    reference = ReferenceAdamW(
        [variable.numpy() for variable in variables],
        [True, True, False, False, False],
        weight_decay=0.1,
        clip_norm=clip_norm,
    )
    optimizer = adamw(0.05, 5, warmup=0.4, weight_decay=0.1, clip_norm=clip_norm)
    optimizer.build(variables)
    for learning_rate in (0.025, 0.05, 0.05, 0.05 * 2 / 3, 0.05 / 3):
        gradients = [rng.normal(size=shape).astype("float32") for shape in shapes]
        optimizer.apply([keras.ops.convert_to_tensor(gradient) for gradient in gradients])
        reference.apply(gradients, learning_rate)
    for variable, expected in zip(variables, reference.weights, strict=True):
        np.testing.assert_allclose(variable, expected, rtol=1e-5, atol=1e-6)


def test_weight_decay_leaves_out_biases_and_norms():
    variables = build_pretraining(build_encoder(tiny_config())).trainable_variables
    for variable in variables:
        variable.assign(np.ones(variable.shape))
    optimizer = adamw(0.5, 1, weight_decay=0.1)
    optimizer.build(variables)
    optimizer.apply([keras.ops.zeros(variable.shape) for variable in variables])
    values = {variable.path: set(np.unique(variable.numpy()).tolist()) for variable in variables}
    kept = ("bias", "gamma", "beta")
    assert {name: next(iter(value)) for name, value in values.items()} == {
        name: pytest.approx(1.0 if name.endswith(kept) else 0.95) for name in values
    }
    assert sum(name.endswith(("kernel", "embeddings")) for name in values) == 3 + 2 * 6 + 1 + 1 + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"learning_rate": 0.0}, "adamw.learning_rate must be positive, got 0.0"),
        ({"steps": 0}, "adamw.steps must be at least 1, got 0"),
        ({"warmup": 1.5}, "adamw.warmup must be between 0 and 1, got 1.5"),
        ({"weight_decay": -0.1}, "adamw.weight_decay must not be negative, got -0.1"),
        ({"clip_norm": 0.0}, "adamw.clip_norm must be positive, got 0.0"),
        ({"clip_norm": math.inf}, "adamw.clip_norm must be a finite number, got inf"),
        ({"weight_decay": math.inf}, "adamw.weight_decay must be a finite number, got inf"),
    ],
)
def test_refuses_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        adamw(**{"learning_rate": 1e-3, "steps": 10} | arguments)


def test_the_rate_of_each_layer():
    variables = build_pretraining(build_encoder(tiny_config(num_layers=3))).trainable_variables
    for variable in variables:
        variable.assign(np.zeros(variable.shape))
    optimizer = adamw(0.5, 1, weight_decay=0.0, layer_decay=0.5)
    optimizer.build(variables)
    # Adam's first step is as long as the rate, whatever the gradient.
    optimizer.apply([keras.ops.ones(variable.shape) for variable in variables])
    for variable in variables:
        layer = variable.path.split("/")[0]
        share = {"block_0": 1 / 4, "block_1": 1 / 2}.get(layer, 1 / 8 if "embedding" in layer else 1.0)
        np.testing.assert_allclose(variable.numpy(), -0.5 * share, rtol=5e-3, err_msg=variable.path)


def test_decay_follows_the_rate_of_the_layer():
    variable = keras.Variable(np.ones((2, 2)), name="kernel")
    variable._path = "block_0/output/kernel"
    top = keras.Variable(np.ones((2, 2)), name="kernel")
    top._path = "block_2/output/kernel"
    optimizer = adamw(0.5, 1, weight_decay=0.1, layer_decay=0.5)
    optimizer.build([variable, top])
    optimizer.apply([keras.ops.zeros((2, 2))] * 2)
    np.testing.assert_allclose(variable.numpy(), 1 - 0.5 * 0.25 * 0.1)
    np.testing.assert_allclose(top.numpy(), 1 - 0.5 * 0.1)
    optimizer = adamw(0.5, 7, decay="cosine", weight_decay=0.3, layer_decay=0.9)
    custom = {"WarmupDecay": WarmupDecay}
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(optimizer), custom_objects={"LayerwiseAdamW": LayerwiseAdamW, **custom}
    )
    assert type(again) is LayerwiseAdamW
    assert again.get_config() == optimizer.get_config()
