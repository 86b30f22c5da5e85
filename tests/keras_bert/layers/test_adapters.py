"""Layers beside others, by their formulas."""

import math

import keras
import numpy as np
import pytest

from keras_bert.layers.adapters import BottleneckAdapter, LowRankAdapter, PromptPlaces, SoftPrompt, TokenStates


def test_a_low_rank_change_by_its_formula():
    rng = np.random.default_rng(0)
    layer = LowRankAdapter(rank=2, alpha=6.0)
    layer.build((None, 5), (None, 4))
    down, up = rng.normal(size=(5, 2)).astype("float32"), rng.normal(size=(2, 4)).astype("float32")
    x, y = rng.normal(size=(3, 5)).astype("float32"), rng.normal(size=(3, 4)).astype("float32")
    np.testing.assert_array_equal(layer(x, y), y)
    layer.down.assign(down)
    layer.up.assign(up)
    np.testing.assert_allclose(layer(x, y), y + 3 * x @ down @ up, rtol=1e-5)
    np.testing.assert_allclose(layer.kernel_update(), 3 * down @ up, rtol=1e-5)


def test_a_bottleneck_by_its_formula():
    rng = np.random.default_rng(0)
    layer = BottleneckAdapter(size=3)
    layer.build((None, 9), (None, 4))
    y = rng.normal(size=(2, 4)).astype("float32")
    np.testing.assert_allclose(layer(None, y), y, atol=1e-4)
    first, bias, second, last = (rng.normal(size=weight.shape).astype("float32") for weight in layer.weights)
    layer.set_weights([first, bias, second, last])
    hidden = y @ first + bias
    hidden = 0.5 * hidden * (1 + np.vectorize(math.erf)(hidden / np.sqrt(2)))
    np.testing.assert_allclose(layer(None, y), y + hidden @ second + last, rtol=1e-4)


def test_a_prompt_takes_the_first_places():
    ids, vectors = np.array([[0, 0, 3], [0, 0, 4]], "int32"), np.arange(24, dtype="float32").reshape(2, 3, 4)
    layer = SoftPrompt(2)
    layer.build(ids.shape, vectors.shape)
    layer.vectors.assign([[-1.0] * 4, [-2.0] * 4])
    outputs = np.asarray(layer(ids, vectors))
    assert outputs[:, :2, 0].tolist() == [[-1.0, -2.0]] * 2
    np.testing.assert_array_equal(outputs[:, 2], vectors[:, 2])


def test_places_for_a_prompt():
    inputs = {"token_ids": np.array([[5, 6]], "int32"), "padding_mask": np.array([[1, 0]], "int32")}
    states = np.arange(8, dtype="float32").reshape(1, 4, 2)
    places, tokens = PromptPlaces(), TokenStates()
    same = {name: np.asarray(value).tolist() for name, value in places(inputs).items()}
    assert same == {"token_ids": [[5, 6]], "padding_mask": [[1, 0]]}
    assert tokens(states).shape == (1, 4, 2)
    places.tokens = tokens.tokens = 2
    outputs = {name: np.asarray(value).tolist() for name, value in places(inputs).items()}
    assert outputs == {"token_ids": [[0, 0, 5, 6]], "padding_mask": [[1, 1, 1, 0]]}
    np.testing.assert_array_equal(tokens(states), states[:, 2:])


@pytest.mark.parametrize("length", [3, None])
def test_places_in_a_graph(length):
    inputs = {"token_ids": keras.Input((length,), dtype="int32")}
    assert PromptPlaces()(inputs)["token_ids"].shape == (None, length)
