import numpy as np
import pytest
import tensorflow as tf

from keras_bert.core.losses import correct, cross_entropy
from keras_bert.fused.masked_tokens import draw_tokens, masked_token_loss
from keras_bert.layers.noise import gumbel_noise

RANDOM = np.random.default_rng(0)
STATES = tf.constant(RANDOM.normal(size=(6, 8)), tf.float32)
TABLE = tf.constant(RANDOM.normal(size=(19, 8)), tf.float32)
BIAS = tf.constant(RANDOM.normal(size=19), tf.float32)
LABELS = tf.constant([0, 4, 5, 18, 7, 7])
UPSTREAM = tf.constant(RANDOM.normal(size=6), tf.float32)


def plain(states, table, bias):
    return tf.matmul(states, table, transpose_b=True) + bias


@pytest.mark.parametrize("chunk", [5, 19, 100])
def test_loss_and_gradient(chunk):
    inputs = [STATES, TABLE, BIAS]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        actual_loss = masked_token_loss(*inputs, LABELS, chunk)[0]
        expected = cross_entropy(plain(*inputs), LABELS)
    np.testing.assert_allclose(actual_loss, expected, rtol=1e-6, atol=1e-6)
    for one, other in zip(*(tape.gradient(loss, inputs, UPSTREAM) for loss in (actual_loss, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("chunk", [5, 100])
def test_hits_count_the_first_of_equals(chunk):
    best = tf.argmax(plain(STATES, TABLE, BIAS), axis=1, output_type=tf.int32)
    np.testing.assert_array_equal(masked_token_loss(STATES, TABLE, BIAS, best, chunk)[1], np.ones(6))
    np.testing.assert_array_equal(masked_token_loss(STATES, TABLE, BIAS, (best + 1) % 19, chunk)[1], np.zeros(6))
    level = tf.zeros_like(TABLE), tf.zeros(19)
    expected = correct(plain(STATES, *level), LABELS)
    np.testing.assert_array_equal(masked_token_loss(STATES, *level, LABELS, chunk)[1], expected)
    assert sum(expected) == 1


def test_scores_far_apart():
    loss, _ = masked_token_loss(STATES * 1000, TABLE, BIAS, LABELS, 5)
    np.testing.assert_allclose(loss, cross_entropy(plain(STATES * 1000, TABLE, BIAS), LABELS), rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("chunk", [5, 19])
def test_tokens_are_drawn_as_from_the_scores_in_one_piece(chunk):
    seeds = [tf.constant(RANDOM.integers(0, 2**32, 6), tf.uint32) for _ in range(2)]
    noise = gumbel_noise(tf.cast(tf.range(19), tf.uint32), *(seed[:, None] for seed in seeds))
    expected = tf.argmax(plain(STATES, TABLE, BIAS) + noise, axis=1)
    assert len(set(expected.numpy().tolist())) > 1
    np.testing.assert_array_equal(draw_tokens(STATES, TABLE, BIAS, *seeds, chunk), expected)
