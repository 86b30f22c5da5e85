import numpy as np
import pytest

from keras_bert.families.mpnet.layers import RelativeBias, find_buckets
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.families.registry import family_of
from tests.keras_bert.tiny import tiny_config

CONFIG = tiny_config(num_segments=0, position_offset=2, variant=MPNet(position_buckets=8, max_distance=8))


def test_buckets_grow_with_the_distance_and_stop():
    # Distances 0 and 1 have a row each, 2 and 3 share one, all from 4 on another; the second half is for later keys.
    assert find_buckets(np.arange(6, -7, -1), CONFIG.variant).tolist() == [3, 3, 3, 2, 2, 1, 0, 5, 6, 6, 7, 7, 7]


def test_each_head_has_numbers_of_its_own_and_padding_stays_masked():
    layer = RelativeBias(CONFIG)
    padding = np.zeros((2, 1, 1, 4), "float32")
    padding[1, ..., 3:] = -120.0
    bias = np.asarray(layer(padding))
    table = np.asarray(layer.embeddings)
    assert bias.shape == (2, 2, 4, 4)
    np.testing.assert_allclose(bias[0, 1, 1], table[[1, 0, 5, 6], 1])
    np.testing.assert_allclose(bias[1] - bias[0], np.broadcast_to(padding[1], (2, 4, 4)), atol=1e-5)


def test_transformers_has_32_buckets():
    with pytest.raises(ValueError, match=r"'mpnet' does not fit: variant.position_buckets must be 32, got 8"):
        family_of(CONFIG, "mpnet", pooler=False)
