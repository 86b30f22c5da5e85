import numpy as np
import pytest
import tensorflow as tf

from keras_bert.fused.block import compiled, seeded_dropout

SEED = tf.constant([3, 11], tf.uint32)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_keep_drops_its_share_and_scales_the_rest(rate):
    kept = seeded_dropout(tf.ones((1000, 300)), SEED, rate).numpy()
    assert set(np.unique(kept)) == {0.0, np.float32(1 / (1 - rate))}
    # The standard deviation of a share of 300,000 is below 0.001, of the sum of a row or column below 0.029.
    assert np.mean(kept == 0) == pytest.approx(rate, abs=0.004)
    for axis in (0, 1):
        assert np.abs(np.mean(kept == 0, axis) - rate).max() < 0.16


def test_keep_draws_by_seed_and_place_alone():
    first = seeded_dropout(tf.ones((50, 40)), SEED, 0.5).numpy()
    np.testing.assert_array_equal(first.ravel(), seeded_dropout(tf.ones(2000), SEED, 0.5).numpy())
    signs = [
        np.sign(seeded_dropout(tf.ones(40000), tf.constant(seed, tf.uint32), 0.5).numpy() - 1)
        for seed in np.ndindex(4, 4)
    ]
    correlations = np.corrcoef([*signs, np.roll(signs[0], 1)])
    assert np.abs(correlations - np.eye(len(signs) + 1)).max() < 0.03


def test_keep_passes_all_on_without_a_rate():
    x = tf.random.normal((3, 4))
    assert seeded_dropout(x, SEED, 0.0) is x


def test_gradient_draws_the_same_numbers_again():
    dropped = compiled(lambda x, seed: seeded_dropout(x, seed, 0.3))
    x = tf.random.normal((20, 30))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = dropped(x, SEED)
    np.testing.assert_allclose(tape.gradient(y, x), y / x, rtol=1e-6)


def test_any_shape_within_one_graph():
    doubled = compiled(lambda x, seed: 2.0 * x)
    traced = tf.function(lambda x: doubled(x, SEED), input_signature=[tf.TensorSpec((None, 3))])
    for rows in (2, 5):
        np.testing.assert_array_equal(traced(tf.ones((rows, 3))), np.full((rows, 3), 2.0))
