import dataclasses
import zlib

import keras
import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.deberta.layers import RelativeEmbedding, by_distance_to_pairs, relative_positions
from keras_bert.families.deberta.settings import DeBERTa

BUCKETED = DeBERTa(position_buckets=8, max_distance=20, normalized_positions=False)
PLAIN = dataclasses.replace(BUCKETED, position_buckets=0, max_distance=3)
CONFIG = EncoderConfig(
    num_layers=1, hidden_size=4, num_heads=2, intermediate_size=4, vocabulary_size=9, max_length=6, variant=PLAIN
)


def test_buckets_are_those_of_transformers():
    # `make_log_bucket_position` of transformers 5.23.0 for 0 to 20 tokens, and the checksum of those of version 3.
    expected = [0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 8]
    positions = relative_positions(np.arange(21), BUCKETED)
    np.testing.assert_array_equal(positions, expected)
    np.testing.assert_array_equal(relative_positions(-np.arange(21), BUCKETED), -positions)
    all_of_version_3 = relative_positions(np.arange(513), DeBERTa())
    assert zlib.crc32(all_of_version_3.astype("int32").tobytes()) == 1431465501


def test_each_distance_has_its_row():
    layer = RelativeEmbedding(CONFIG)
    outputs = np.asarray(layer(np.zeros((2, 4, 4), "float32")))
    table = layer.get_weights()[0]
    # Distances 4 to -3, three rows in each direction and the rest on the last one (He et al. 2021, equation 3).
    np.testing.assert_array_equal(outputs, table[[[5, 5, 5, 4, 3, 2, 1, 0], [0, 0, 1, 2, 3, 4, 5, 5]]])


def test_rows_are_normalized():
    variant = dataclasses.replace(PLAIN, normalized_positions=True)
    layer = RelativeEmbedding(dataclasses.replace(CONFIG, variant=variant, layer_norm_epsilon=1e-3))
    outputs = np.asarray(layer(np.zeros((2, 3, 4), "float32")))
    # Distances 3, 2, 1, 0, ...
    rows = np.asarray(layer.embeddings)[[5, 5, 4, 3]]
    spread = np.sqrt(rows.var(axis=1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(outputs[0, :4], (rows - rows.mean(axis=1, keepdims=True)) / spread, atol=1e-5)


def test_no_row_for_what_is_too_long():
    with pytest.raises(ValueError, match="at most max_length=6 tokens, got 7"):
        RelativeEmbedding(CONFIG)(np.zeros((1, 7, 4), "float32"))
    with pytest.raises(ValueError, match="at most max_length=6 tokens, got 7"):
        RelativeEmbedding(CONFIG)(keras.Input((7, 4)))


@pytest.mark.parametrize("length", [1, 2, 5])
def test_from_distances_to_pairs(length):
    scores = np.random.default_rng(0).normal(size=(2, 3, length, 2 * length)).astype("float32")
    first, second = np.meshgrid(np.arange(length), np.arange(length), indexing="ij")
    expected = scores[:, :, first, length - (first - second)]
    np.testing.assert_array_equal(by_distance_to_pairs(keras.ops.convert_to_tensor(scores)), expected)
