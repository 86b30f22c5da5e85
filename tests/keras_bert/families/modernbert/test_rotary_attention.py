import math

import numpy as np
import pytest

from keras_bert.families.modernbert.layers import RotaryAttention, WindowBias
from tests.keras_bert.families.modernbert.test_rotary import rotated

PARTS = ("query_key_value", "output_projection")


def attend(x, seen, weights, num_heads, theta):
    """One row (length, hidden) and one head at a time, of which each place sees some (length, length)."""
    size = x.shape[-1] // num_heads
    query, key, value = np.split(x @ weights["query_key_value"], 3, axis=-1)
    result = np.zeros_like(x)
    for head in range(num_heads):
        part = slice(head * size, (head + 1) * size)
        scores = rotated(query[:, part], theta) @ rotated(key[:, part], theta).T / math.sqrt(size)
        shares = np.where(seen, np.exp(scores), 0)
        result[:, part] = shares / shares.sum(axis=-1, keepdims=True) @ value[:, part]
    return result @ weights["output_projection"]


def test_bias_hides_padding_and_distant_tokens():
    padding = np.array([[0, 0, 0, 0, 0], [0, 0, 0, -120, -120]], "float32")[:, None, None, :]
    bias = np.asarray(WindowBias(2)(padding))
    assert bias.shape == (2, 1, 5, 5)
    for row, query, key in np.ndindex(2, 5, 5):
        hidden = abs(query - key) > 2 or (row == 1 and key >= 3)
        assert bias[row, 0, query, key] == (-120 if hidden else 0)


@pytest.mark.parametrize("reach", [1, 9])
def test_against_numpy(reach):
    rng = np.random.default_rng(2)
    x, lengths = rng.normal(size=(2, 7, 12)), np.array([7, 5])
    padding = np.where(np.arange(7) < lengths[:, None], 0.0, -120.0).astype("float32")[:, None, None, :]
    layer, bias = RotaryAttention(3, 50.0), WindowBias(reach)(padding)
    layer(x.astype("float32"), bias)
    weights = {name: rng.normal(size=getattr(layer, name).kernel.shape) for name in PARTS}
    for name, kernel in weights.items():
        getattr(layer, name).kernel.assign(kernel)
    outputs = np.asarray(layer(x.astype("float32"), bias))
    near = np.abs(np.arange(7)[:, None] - np.arange(7)) <= reach
    for row, length in enumerate(lengths):
        expected = attend(x[row, :length], near[:length, :length], weights, 3, 50.0)
        np.testing.assert_allclose(outputs[row, :length], expected, atol=2e-5)


def test_dropout_acts_on_the_output_too():
    x, bias = np.ones((1, 4, 8), "float32"), np.zeros((1, 1, 1, 4), "float32")
    layer = RotaryAttention(2, 100.0, dropout=0.5)
    assert np.all(np.asarray(layer(x, bias)))
    dropped = np.asarray(layer(x, bias, training=True)) == 0
    assert dropped.any()
    assert not dropped.all()
