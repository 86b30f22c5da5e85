import numpy as np
import pytest

from keras_bert.families.bigbird.layers import BigBirdAttention, draw_blocks
from keras_bert.families.bigbird.settings import BigBird
from tests.keras_bert.families import long_attention as long

SIZE, COUNT = 2, 1


def make(attention="block_sparse", **changes):
    variant = BigBird(block_size=SIZE, random_blocks=COUNT, attention=attention)
    layer = BigBirdAttention(long.config(variant, **changes), 1)
    layer.build((None, None, long.HIDDEN), None)
    return layer


def times_seen(length, training):
    """How often each block of queries sees each block of keys: (heads, blocks, blocks)."""
    blocks = -(-length // SIZE)
    if length <= (5 + 2 * COUNT) * SIZE:
        return np.ones((long.HEADS, blocks, blocks))
    drawn = draw_blocks(blocks, long.HEADS, COUNT, 1)
    seen = np.zeros((long.HEADS, blocks, blocks))
    for head in range(long.HEADS):
        for row in range(blocks):
            seen[head, row, [0, -1, row, max(row - 1, 0), min(row + 1, blocks - 1)]] = 1
            if row in (0, blocks - 1):
                seen[head, row] = 1
            elif training:
                seen[head, row, drawn[head, row - 1]] += 1
            else:
                seen[head, row, 0] += COUNT
    return seen


def expected(layer, x, mask, training):
    """As section 2 has it, over all pairs."""
    length = x.shape[1]
    times = times_seen(length, training).repeat(SIZE, axis=1).repeat(SIZE, axis=2)[:, :length, :length]
    weights = np.where(times > 0, np.log(np.maximum(times, 1e-9)), -1e9)
    context = long.attend(layer, long.scores_of(layer, x) + weights + long.bias_of(mask), x)
    return np.asarray(layer.output_projection(context.astype("float32")))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("length", [1, 14, 15, 16, 21])
def test_as_over_all_pairs(length, training):
    layer, x = make(), long.states(length)
    mask = np.ones((2, length), "int32")
    mask[1, max(1, length // 2) :] = 0
    outputs = np.asarray(layer(x, long.bias_of(mask), training=training))
    real = mask == 1
    np.testing.assert_allclose(outputs[real], expected(layer, x, mask, training)[real], atol=2e-5)


def test_a_block_off_by_one_would_be_found(monkeypatch):
    x, mask = long.states(21), np.ones((2, 21), "int32")
    layer = make()
    right = expected(layer, x, mask, training=False)
    monkeypatch.setattr("tests.keras_bert.families.bigbird.test_layers.SIZE", 3)
    assert np.abs(np.asarray(layer(x, long.bias_of(mask))) - right).max() < 2e-5
    assert np.abs(expected(layer, x, mask, training=False) - right).max() > 1e-3


def test_full_attention_whatever_the_length():
    layer, x, mask = make("full"), long.states(21), np.ones((2, 21), "int32")
    context = long.attend(layer, long.scores_of(layer, x), x)
    expected = layer.output_projection(context.astype("float32"))
    np.testing.assert_allclose(layer(x, long.bias_of(mask)), expected, atol=2e-5)


@pytest.mark.skipif(not long.ON_TENSORFLOW, reason="of graphs whose lengths are not known when they are made")
@pytest.mark.parametrize("training", [False, True])
def test_lengths_that_are_not_known(training):
    import tensorflow as tf

    layer = make(max_length=1100)
    unknown = [tf.TensorSpec((None, None, long.HIDDEN)), tf.TensorSpec((None, 1, 1, None))]
    call = tf.function(lambda x, bias: layer(x, bias, training=training), input_signature=unknown)
    # The last is one of those with a plan of its own.
    for length in (3, 14, 15, 20, 1024):
        x, bias = long.states(length, 1), long.bias_of(np.ones((1, length)))
        np.testing.assert_allclose(call(x, bias), layer(x, bias, training=training), atol=2e-6)


@pytest.mark.skipif(not long.ON_TENSORFLOW, reason="looks at TensorFlow's graph")
@pytest.mark.parametrize("training", [False, True])
def test_memory_grows_with_the_length(training):
    sizes = {}
    for length in (64, 128):
        sizes[length], made = long.largest(
            make(max_length=128), (2, length, long.HIDDEN), (2, 1, 1, length), training=training
        )
        assert not any(sum(size >= length for size in shape) > 1 for shape in made)
    assert sizes[128] <= 2.2 * sizes[64]
