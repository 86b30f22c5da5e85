import dataclasses

import keras
import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.modernbert.layers import ModernBERTBlock
from keras_bert.families.modernbert.settings import ModernBERT
from tests.keras_bert.families.modernbert.test_rotary_attention import attend
from tests.keras_bert.models.test_encoder import ACTIVATIONS, randomize

VARIANT = ModernBERT(global_every=2, window=2, global_theta=90.0, local_theta=7.0)
CONFIG = EncoderConfig(
    num_layers=3,
    hidden_size=8,
    num_heads=2,
    intermediate_size=6,
    vocabulary_size=9,
    num_segments=0,
    activation="gelu_erf",
    layer_norm_epsilon=0.01,
    variant=VARIANT,
)
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
def test_against_numpy(index, theta):
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


def test_a_block_starts_from_one_of_its_kind_as_it_is():
    theirs = make(2)
    ours = ModernBERTBlock(CONFIG, 1, name="block_1")
    ours.build(STATES.shape, BIAS.shape)
    for weight, expected in zip(ours.weights_from(theirs), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, expected)


def test_a_first_block_reads_what_another_would_of_normalized_states():
    theirs, ours = make(2), make(0)
    ours.set_weights(ours.weights_from(theirs))
    theirs.attention_norm.epsilon = 0.0
    normal = keras.layers.LayerNormalization(epsilon=0.0)(STATES)
    np.testing.assert_allclose(ours(normal, BIAS), theirs(normal, BIAS), atol=1e-5)


def test_another_than_the_first_starts_from_the_first_with_a_norm_that_scales_nothing():
    theirs, ours = make(0), make(2)
    ours.set_weights(ours.weights_from(theirs))
    np.testing.assert_array_equal(ours.attention_norm.gamma, np.ones(8))
    np.testing.assert_array_equal(ours.attention.query_key_value.kernel, theirs.attention.query_key_value.kernel)
    np.testing.assert_array_equal(ours.feed_forward_norm.gamma, theirs.feed_forward_norm.gamma)


def test_initial_weights_of_what_is_added_shrink_with_the_layers():
    config = dataclasses.replace(CONFIG, hidden_size=64, num_layers=18)
    block = ModernBERTBlock(config, 1)
    block.build((1, 5, 64), (1, 1, 1, 5))
    first, last = block.attention.query_key_value, block.feed_forward.output_projection
    # By the root of twice the layers.
    assert np.std(first.kernel.numpy()) == pytest.approx(6 * np.std(last.kernel.numpy()), rel=0.15)
