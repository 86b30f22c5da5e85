import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.deberta.layers import DeBERTaAttention, DeBERTaBlock, RelativeEmbedding
from keras_bert.families.deberta.settings import DeBERTa

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
