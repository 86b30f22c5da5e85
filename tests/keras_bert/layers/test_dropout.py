"""Dropout: its rate, its scale, and numbers that no element and no call shares."""

import keras
import numpy as np

from keras_bert.layers.dropout import Dropout

ONES = np.ones((64, 8, 128), "float32")


def masks(layer, calls=4):
    return [np.asarray(layer(ONES, training=True)) for _ in range(calls)]


def test_a_share_is_zero_and_the_mean_stays():
    (values,) = masks(Dropout(0.25, seed=1), calls=1)
    assert np.unique(values).tolist() == [0.0, np.float32(1 / 0.75)]
    # Four standard errors of 65,536 elements, and of 512 for each place.
    np.testing.assert_allclose(np.mean(values == 0), 0.25, atol=4 * np.sqrt(0.25 * 0.75 / ONES.size))
    np.testing.assert_allclose(np.mean(values == 0, axis=(0, 1)), 0.25, atol=4 * np.sqrt(0.25 * 0.75 / 512))


def test_neighbours_calls_and_layers_are_independent():
    kept = [values != 0 for layer in (Dropout(0.5, seed=1), Dropout(0.5, seed=2)) for values in masks(layer)]
    kept += [np.roll(kept[0], 1, axis) for axis in range(3)]
    correlations = np.corrcoef(np.reshape(kept, (len(kept), -1)))
    np.testing.assert_allclose(correlations, np.eye(len(kept)), atol=5 / np.sqrt(ONES.size))


def test_a_seed_repeats_and_inference_changes_nothing():
    np.testing.assert_array_equal(masks(Dropout(0.5, seed=3)), masks(Dropout(0.5, seed=3)))
    np.testing.assert_array_equal(np.asarray(Dropout(0.5)(ONES)), ONES)
    np.testing.assert_array_equal(np.asarray(Dropout(0.0)(ONES, training=True)), ONES)
    restored = keras.layers.deserialize(keras.layers.serialize(Dropout(0.5, seed=3)))
    np.testing.assert_array_equal(masks(restored), masks(Dropout(0.5, seed=3)))
