import dataclasses
import zlib

import keras
import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.deberta.layers import (
    ConvolutionSum,
    DeBERTaAttention,
    DeBERTaBlock,
    RelativeEmbedding,
    by_distance_to_pairs,
    relative_positions,
)
from keras_bert.families.deberta.settings import DeBERTa
from tests.keras_bert.tiny import tiny_config

SHAPE = {"num_layers": 1, "hidden_size": 4, "num_heads": 2, "intermediate_size": 6, "vocabulary_size": 9}
SPAN, LENGTH = 3, 5
STATES = np.random.default_rng(0).normal(size=(2, LENGTH, 4)).astype("float32")
BIAS = np.zeros((2, 1, 1, LENGTH), "float32")
BIAS[1, ..., 3:] = -120.0
VARIANTS = {
    "both": {},
    "content_to_position": {"position_to_content": False},
    "position_to_content": {"content_to_position": False},
    "apart": {"shared_projections": False, "key_bias": False},
}


def attend_by_the_book(layer, table, asking=STATES):
    """Equations 3 and 4 of He et al. 2021, pair by pair; as in the released code, both scores read row delta(i, j)."""

    def project(name, rows):
        dense = getattr(layer, name)
        outputs = rows @ np.asarray(dense.kernel) + (np.asarray(dense.bias) if dense.use_bias else 0.0)
        return outputs.reshape(*rows.shape[:-1], 2, 2)

    apart = not layer.variant.shared_projections
    content = {"query": project("query", asking), "key": project("key", STATES), "value": project("value", STATES)}
    scores = np.zeros((2, 2, LENGTH, LENGTH))
    for i in range(LENGTH):
        for j in range(LENGTH):
            delta = min(max(i - j + SPAN, 0), 2 * SPAN - 1)
            total = (content["query"][:, i] * content["key"][:, j]).sum(-1)
            if layer.variant.content_to_position:
                relative = project("position_key" if apart else "key", table)[delta]
                total += (content["query"][:, i] * relative).sum(-1)
            if layer.variant.position_to_content:
                relative = project("position_query" if apart else "query", table)[delta]
                total += (content["key"][:, j] * relative).sum(-1)
            scores[:, :, i, j] = total
    terms = 1 + layer.variant.content_to_position + layer.variant.position_to_content
    shares = np.exp(scores / np.sqrt(2 * terms) + BIAS)
    shares /= shares.sum(-1, keepdims=True)
    context = np.einsum("bhij,bjhd->bihd", shares, content["value"]).reshape(STATES.shape)
    return context @ np.asarray(layer.output_projection.kernel) + np.asarray(layer.output_projection.bias)


@pytest.mark.parametrize("kind", VARIANTS)
def test_attention_is_that_of_the_paper(kind):
    plain = {"position_buckets": 0, "max_distance": SPAN, "normalized_positions": False}
    variant = DeBERTa(**plain, **VARIANTS[kind])
    config = EncoderConfig(**SHAPE, max_length=8, variant=variant)
    positions, layer = RelativeEmbedding(config), DeBERTaAttention(config)
    layer(STATES, BIAS, positions(STATES))
    rng = np.random.default_rng(1)
    for weight in (*positions.weights, *layer.weights):
        weight.assign(rng.normal(size=weight.shape))
    expected = attend_by_the_book(layer, np.asarray(positions.embeddings))
    np.testing.assert_allclose(layer(STATES, BIAS, positions(STATES)), expected, atol=1e-5)
    asking = rng.normal(size=STATES.shape).astype("float32")
    expected = attend_by_the_book(layer, np.asarray(positions.embeddings), asking)
    np.testing.assert_allclose(layer(STATES, BIAS, positions(STATES), asking), expected, atol=1e-5)


def test_relative_positions_are_dropped_in_training():
    config = EncoderConfig(**SHAPE, max_length=8, dropout=0.5, attention_dropout=0.0, variant=DeBERTa())
    layer = DeBERTaAttention(config)
    relative = np.ones((2, 2 * LENGTH, 4), "float32")
    still = layer(STATES, BIAS, relative)
    np.testing.assert_array_equal(layer(STATES, BIAS, relative, training=False), still)
    assert not np.allclose(layer(STATES, BIAS, relative, training=True), still)


def test_a_block_is_berts_around_its_attention():
    config = EncoderConfig(**SHAPE, max_length=8, variant=DeBERTa())
    block = DeBERTaBlock(config)
    relative = np.ones((2, 2 * LENGTH, 4), "float32")
    outputs = block(STATES, BIAS, relative)
    middle = block.attention_norm(STATES + block.attention(STATES, BIAS, relative))
    np.testing.assert_allclose(outputs, block.feed_forward_norm(middle + block.feed_forward(middle)), atol=1e-6)
    asking = STATES[:, ::-1]
    middle = block.attention_norm(asking + block.attention(STATES, BIAS, relative, asking))
    expected = block.feed_forward_norm(middle + block.feed_forward(middle))
    np.testing.assert_allclose(block(STATES, BIAS, relative, asking), expected, atol=1e-6)


BUCKETED = DeBERTa(position_buckets=8, max_distance=20, normalized_positions=False)
PLAIN = dataclasses.replace(BUCKETED, position_buckets=0, max_distance=3)
CONFIG = tiny_config(num_layers=1, hidden_size=4, max_length=6, variant=PLAIN)


def test_buckets_are_those_of_transformers():
    # `make_log_bucket_position` of transformers 5.23.0 for 0 to 20 tokens, and the checksum of those of version 3.
    expected = [0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 8]
    positions = relative_positions(np.arange(21), BUCKETED)
    np.testing.assert_array_equal(positions, expected)
    np.testing.assert_array_equal(relative_positions(-np.arange(21), BUCKETED), -positions)
    all_of_version_3 = relative_positions(np.arange(513), DeBERTa())
    assert zlib.crc32(all_of_version_3.astype("int32").tobytes()) == 1431465501


def test_each_distance_has_its_row_and_what_is_too_long_has_none():
    layer = RelativeEmbedding(CONFIG)
    outputs = np.asarray(layer(np.zeros((2, 4, 4), "float32")))
    table = layer.get_weights()[0]
    # Distances 4 to -3, three rows in each direction and the rest on the last one (He et al. 2021, equation 3).
    np.testing.assert_array_equal(outputs, table[[[5, 5, 5, 4, 3, 2, 1, 0], [0, 0, 1, 2, 3, 4, 5, 5]]])
    with pytest.raises(ValueError, match="at most max_length=6 tokens, got 7"):
        RelativeEmbedding(CONFIG)(np.zeros((1, 7, 4), "float32"))
    with pytest.raises(ValueError, match="at most max_length=6 tokens, got 7"):
        RelativeEmbedding(CONFIG)(keras.Input((7, 4)))


def test_rows_are_normalized():
    variant = dataclasses.replace(PLAIN, normalized_positions=True)
    layer = RelativeEmbedding(dataclasses.replace(CONFIG, variant=variant, layer_norm_epsilon=1e-3))
    outputs = np.asarray(layer(np.zeros((2, 3, 4), "float32")))
    # Distances 3, 2, 1, 0, ...
    rows = np.asarray(layer.embeddings)[[5, 5, 4, 3]]
    spread = np.sqrt(rows.var(axis=1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(outputs[0, :4], (rows - rows.mean(axis=1, keepdims=True)) / spread, atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_from_distances_to_pairs(length):
    scores = np.random.default_rng(0).normal(size=(2, 3, length, 2 * length)).astype("float32")
    first, second = np.meshgrid(np.arange(length), np.arange(length), indexing="ij")
    expected = scores[:, :, first, length - (first - second)]
    np.testing.assert_array_equal(by_distance_to_pairs(keras.ops.convert_to_tensor(scores)), expected)


EMBEDDED, BESIDE = np.random.default_rng(0).normal(size=(2, 2, 6, 4)).astype("float32")
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]], "int32")


@pytest.mark.parametrize("window", [3, 5])
def test_each_token_sees_its_neighbours_and_no_padding(window):
    variant = DeBERTa(convolution=window, convolution_activation="tanh")
    layer = ConvolutionSum(EncoderConfig(**SHAPE, layer_norm_epsilon=1e-3, variant=variant))
    layer(EMBEDDED, BESIDE, MASK)
    rng = np.random.default_rng(1)
    kernel, bias = rng.normal(size=(window * 4, 4)).astype("float32"), rng.normal(size=4).astype("float32")
    layer.dense.set_weights([kernel, bias])
    expected = np.zeros_like(BESIDE)
    for row in range(2):
        for place in range(6):
            total = bias.astype("float64")
            for step in range(window):
                neighbour = place + step - window // 2
                if 0 <= neighbour < 6 and MASK[row, neighbour]:
                    total = total + EMBEDDED[row, neighbour] @ kernel[4 * step : 4 * step + 4]
            summed = BESIDE[row, place] + np.tanh(total)
            expected[row, place] = (summed - summed.mean()) / np.sqrt(summed.var() + 1e-3)
    np.testing.assert_allclose(layer(EMBEDDED, BESIDE, MASK), expected, atol=1e-5)


def test_span_and_terms_of_attention():
    variant = DeBERTa(position_buckets=0, content_to_position=False, convolution=3)
    assert (variant.span, variant.terms) == (512, 2)
