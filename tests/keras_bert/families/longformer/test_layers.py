import numpy as np
import pytest

from keras_bert.families.longformer.layers import LongformerAttention
from keras_bert.families.longformer.settings import Longformer
from tests.keras_bert.families import long_attention as long

NONE = np.zeros((2, 0), "int32")


def make(window=4):
    layer = LongformerAttention(long.config(Longformer(window=window)), 0)
    layer.build((None, None, long.HIDDEN), None, None)
    return layer


def expected(layer, x, mask, chosen, reach):
    """As section 3.1 has it, over all pairs: a window, global tokens for all, and all for global tokens."""
    length, first = x.shape[1], chosen.shape[1]
    places = np.arange(length)
    near = np.abs(places[:, None] - places[None, :]) <= reach
    is_global = np.pad(chosen, ((0, 0), (0, length - first))).astype(bool) & (mask == 1)
    seen = (near[None] | is_global[:, None, :]) & (mask[:, None, :] == 1)
    hidden = np.where(seen, 0, -1e9)[:, None]
    around = long.attend(layer, long.scores_of(layer, x) + hidden, x)
    of_all = long.attend(layer, long.scores_of(layer, x, "global_") + long.bias_of(mask), x, "global_")
    context = np.where(is_global[:, :, None], of_all, around)
    return np.asarray(layer.output_projection(context.astype("float32")))


@pytest.mark.parametrize("length", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("most", [0, 1, 6])
def test_as_over_all_pairs(length, most):
    layer, x = make(), long.states(length)
    mask = np.ones((2, length), "int32")
    mask[1, max(1, length // 2) :] = 0
    chosen = mask[:, :most] * np.array(
        [[1] * min(most, length), [1, *[0] * (min(most, length) - 1)][: min(most, length)]]
    )
    outputs = np.asarray(layer(x, long.bias_of(mask), chosen.astype("int32")))
    real = mask == 1
    np.testing.assert_allclose(outputs[real], expected(layer, x, mask, chosen, 2)[real], atol=2e-5)


@pytest.mark.parametrize("wrong", [1, 3])
def test_a_window_off_by_one_would_be_found(wrong):
    layer, x, mask = make(), long.states(13), np.ones((2, 13), "int32")
    outputs = np.asarray(layer(x, long.bias_of(mask), NONE))
    assert np.abs(outputs - expected(layer, x, mask, NONE, wrong)).max() > 1e-3


def test_how_far_a_token_is_seen():
    layer, x, mask = make(window=6), long.states(20, 1), np.ones((1, 20), "int32")
    other = x.copy()
    other[:, 10] += 1
    before, after = (np.asarray(layer(states, long.bias_of(mask), NONE[:1])) for states in (x, other))
    assert np.flatnonzero((before != after).any(axis=(0, 2))).tolist() == list(range(7, 14))


@pytest.mark.skipif(not long.ON_TENSORFLOW, reason="looks at TensorFlow's graph")
@pytest.mark.parametrize("first", [0, 1])
def test_memory_grows_with_the_length(first):
    sizes = {}
    for length in (64, 128):
        shapes = (2, length, long.HIDDEN), (2, 1, 1, length), (2, first)
        sizes[length], made = long.largest(make(), *shapes)
        assert not any(sum(size >= length for size in shape) > 1 for shape in made)
    assert sizes[128] == 2 * sizes[64]
