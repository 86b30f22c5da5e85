import dataclasses
import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.families.modernbert.layers import (
    GatedFeedForward,
    ModernBERTBlock,
    RotaryAttention,
    WindowBias,
)
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.layers.rotary import rotary_table, rotate
from tests.keras_bert.models.test_encoder import ACTIVATIONS, randomize
from tests.keras_bert.tiny import tiny_config

VARIANT = ModernBERT(global_every=2, window=2, global_theta=90.0, local_theta=7.0)
SETTINGS = {"intermediate_size": 6, "num_segments": 0, "activation": "gelu_erf", "layer_norm_epsilon": 0.01}
CONFIG = tiny_config(**SETTINGS, num_layers=3, variant=VARIANT)
STATES = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
BIAS = np.zeros((2, 1, 1, 5), "float32")


def make(index):
    block = ModernBERTBlock(CONFIG, index, name=f"block_{index}")
    block(STATES, BIAS)
    randomize(block, seed=index)
    return block


def norm(x, gamma):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 0.01) * gamma


@pytest.mark.parametrize(("index", "theta"), [(0, 90.0), (1, 7.0), (2, 90.0)])
def test_a_block_against_numpy(index, theta):
    block = make(index)
    held = {weight.path.partition("/")[2]: weight.numpy().astype("float64") for weight in block.trainable_weights}
    parts = {name: held[f"attention/{name}/kernel"] for name in ("query_key_value", "output_projection")}
    everywhere = np.ones((5, 5), bool)
    for row, outputs in zip(STATES, np.asarray(block(STATES, BIAS)), strict=True):
        read = norm(row, held["attention_norm/gamma"]) if index else row
        x = row + attend(read, everywhere, parts, 2, theta)
        both = norm(x, held["feed_forward_norm/gamma"]) @ held["feed_forward/intermediate/kernel"]
        gated = ACTIVATIONS["gelu_erf"](both[:, :6]) * both[:, 6:]
        np.testing.assert_allclose(outputs, x + gated @ held["feed_forward/output_projection/kernel"], atol=2e-5)


def test_blocks_start_from_others_with_norms_that_fit():
    theirs = make(2)
    ours = ModernBERTBlock(CONFIG, 1, name="block_1")
    ours.build(STATES.shape, BIAS.shape)
    for weight, expected in zip(ours.weights_from(theirs), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, expected)
    theirs, ours = make(0), make(2)
    ours.set_weights(ours.weights_from(theirs))
    np.testing.assert_array_equal(ours.attention_norm.gamma, np.ones(8))
    np.testing.assert_array_equal(ours.attention.query_key_value.kernel, theirs.attention.query_key_value.kernel)
    np.testing.assert_array_equal(ours.feed_forward_norm.gamma, theirs.feed_forward_norm.gamma)
    theirs, ours = make(2), make(0)
    ours.set_weights(ours.weights_from(theirs))
    theirs.attention_norm.epsilon = 0.0
    normal = keras.layers.LayerNormalization(epsilon=0.0)(STATES)
    np.testing.assert_allclose(ours(normal, BIAS), theirs(normal, BIAS), atol=1e-5)


def test_initial_weights_of_what_is_added_shrink_with_the_layers():
    config = dataclasses.replace(CONFIG, hidden_size=64, num_layers=18)
    block = ModernBERTBlock(config, 1)
    block.build((1, 5, 64), (1, 1, 1, 5))
    first, last = block.attention.query_key_value, block.feed_forward.output_projection
    # By the root of twice the layers.
    assert np.std(first.kernel.numpy()) == pytest.approx(6 * np.std(last.kernel.numpy()), rel=0.15)


def test_a_gated_layer_against_numpy():
    rng = np.random.default_rng(3)
    x, kernel, last = (rng.normal(size=size) for size in ((2, 3, 4), (4, 10), (5, 4)))
    layer = GatedFeedForward(5)
    layer(x.astype("float32"))
    layer.set_weights([kernel, last])
    expected = (ACTIVATIONS["gelu_erf"](x @ kernel[:, :5]) * (x @ kernel[:, 5:])) @ last
    np.testing.assert_allclose(layer(x.astype("float32")), expected, atol=2e-5)


def test_dropout_acts_in_front_of_the_last_product():
    x = np.ones((1, 2, 3), "float32")
    layer = GatedFeedForward(400, dropout=0.5)
    layer(x)
    layer.set_weights([np.ones((3, 800)), np.ones((400, 3))])
    still, moved = np.asarray(layer(x)), np.asarray(layer(x, training=True))
    # All units of a token alike: what is left of 400 equal summands, doubled.
    np.testing.assert_allclose(moved, moved[..., :1] * np.ones(3), rtol=1e-5)
    shares = moved / still
    assert np.all((shares > 0.8) & (shares < 1.2))
    assert not np.allclose(shares, 1)


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


def test_bias_hides_padding_and_distant_tokens_and_dropout_acts_on_the_output():
    padding = np.array([[0, 0, 0, 0, 0], [0, 0, 0, -120, -120]], "float32")[:, None, None, :]
    bias = np.asarray(WindowBias(2)(padding))
    assert bias.shape == (2, 1, 5, 5)
    for row, query, key in np.ndindex(2, 5, 5):
        hidden = abs(query - key) > 2 or (row == 1 and key >= 3)
        assert bias[row, 0, query, key] == (-120 if hidden else 0)
    x, bias = np.ones((1, 4, 8), "float32"), np.zeros((1, 1, 1, 4), "float32")
    layer = RotaryAttention(2, 100.0, dropout=0.5)
    assert np.all(np.asarray(layer(x, bias)))
    dropped = np.asarray(layer(x, bias, training=True)) == 0
    assert dropped.any()
    assert not dropped.all()


@pytest.mark.parametrize("reach", [1, 9])
def test_attention_against_numpy(reach):
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


def rotated(x, theta):
    """(length, size): pairs as complex numbers, each turned by its angle (Su et al. 2024, equation 34)."""
    half = x.shape[-1] // 2
    pairs = x[:, :half] + 1j * x[:, half:]
    angles = np.arange(len(x))[:, None] * theta ** (-np.arange(half) / half)
    turned = pairs * np.exp(1j * angles)
    return np.concatenate([turned.real, turned.imag], axis=-1)


@pytest.mark.parametrize("theta", [100.0, 160_000.0])
def test_pairs_are_turned_by_their_angles(theta):
    x = np.random.default_rng(0).normal(size=(2, 3, 9, 6)).astype("float32")
    expected = [[rotated(head, theta) for head in row] for row in x]
    np.testing.assert_allclose(rotate(x, rotary_table(9, 6, theta)), expected, atol=1e-6)


def test_products_tell_only_how_far_places_are_apart():
    x = np.random.default_rng(1).normal(size=(2, 8)).astype("float32")
    first, second = (rotate(np.tile(row, (1, 1, 12, 1)), rotary_table(12, 8, 50.0)) for row in x)
    products = np.asarray(ops.matmul(first, ops.transpose(second, (0, 1, 3, 2))))[0, 0]
    for apart in range(-11, 12):
        line = np.diagonal(products, apart)
        np.testing.assert_allclose(line, np.full_like(line, line[0]), atol=1e-5)
    assert np.ptp(products[0]) > 0.1


def test_far_places_are_told_apart_in_bfloat16():
    table = rotary_table(4097, 4, 10_000.0)
    assert {part.dtype for part in map(ops.convert_to_numpy, table)} == {np.dtype("float32")}
    turned = rotate(ops.ones((1, 1, 4097, 4), "bfloat16"), table)
    exact = rotated(np.ones((4097, 4)), 10_000.0)
    # As near as the type can be; angles in bfloat16 would be wrong by up to 16.
    np.testing.assert_allclose(ops.cast(turned, "float32")[0, 0], exact, atol=0.01)


def kinds(variant, layers):
    return [variant.is_global(layer) for layer in range(layers)]


def test_which_layers_see_the_whole_text():
    assert kinds(ModernBERT(), 7) == [True, False, False, True, False, False, True]
    assert kinds(ModernBERT(global_layers=(1,)), 3) == [False, True, False]
    assert [ModernBERT().theta(layer) for layer in range(3)] == [160_000.0, 10_000.0, 10_000.0]
    assert ModernBERT().reach == 64


@pytest.mark.parametrize(
    ("variant", "layers", "expected"),
    [
        (ModernBERT(global_every=2), (0, 1, 2), ModernBERT(global_every=2)),
        (ModernBERT(global_every=2), (1, 2), ModernBERT(global_every=2, global_layers=(1,))),
        (ModernBERT(global_every=3), (1, 2), ModernBERT(global_every=3, global_layers=())),
        (ModernBERT(global_every=3, global_layers=(1, 2)), (1, 0, 0, 2), ModernBERT(global_every=3)),
    ],
)
def test_layers_go_on_to_see_what_they_saw(variant, layers, expected):
    settings = variant.of_layers(layers)
    assert settings == expected
    assert kinds(settings, len(layers)) == [variant.is_global(layer) for layer in layers]
