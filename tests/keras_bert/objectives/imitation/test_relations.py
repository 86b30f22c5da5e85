import math

import numpy as np
import pytest
from scipy.special import log_softmax

from keras_bert.objectives.imitation.base import Read
from keras_bert.objectives.imitation.relations import Relations
from tests.keras_bert.objectives.imitation.tensors import MASK, NEEDS, draw, measure

KINDS = ("query", "key", "value")


def divergence(ours, theirs, heads):
    """Of states (batch, length, width), or of scores: the mean over heads and tokens, one row after the other."""
    total, tokens = 0.0, 0
    for row, length in enumerate(MASK.sum(axis=1).astype(int)):
        for head in range(heads):
            ours_, other = (_log_relation(layer_states[row], head, heads, length) for layer_states in (ours, theirs))
            total += (np.exp(other) * (other - ours_)).sum() / heads
        tokens += length
    return total / tokens


def _log_relation(tensor, head, heads, length):
    if tensor.ndim == 3:
        return log_softmax(tensor[head, :length, :length].astype("float64"), axis=-1)
    size = tensor.shape[-1] // heads
    x = tensor[:length, head * size : (head + 1) * size].astype("float64")
    return log_softmax(x @ x.T / math.sqrt(size), axis=-1)


@pytest.mark.parametrize("heads", [1, 2, 6])
def test_queries_keys_and_values_of_models_of_any_width(heads):
    ours, theirs = (
        {kind: [draw(3, 4, width, seed=seed + place)] for place, kind in enumerate(KINDS)}
        for width, seed in ((6, 0), (12, 10))
    )
    expected = sum(divergence(ours[kind][0], theirs[kind][0], heads) for kind in KINDS)
    distance = measure(Relations(*NEEDS, heads), Read([], ours), Read([], theirs))
    assert distance == pytest.approx(expected, rel=1e-5)
    assert distance > 0.01


def test_attention_and_the_relations_of_values():
    ours, theirs = (
        {"scores": [draw(3, 2, 4, 4, seed=seed)], "value": [draw(3, 4, width, seed=seed + 1)]}
        for width, seed in ((6, 0), (8, 10))
    )
    expected = sum(divergence(ours[kind][0], theirs[kind][0], 2) for kind in ("scores", "value"))
    distance = measure(Relations(*NEEDS, 2), Read([], ours), Read([], theirs))
    assert distance == pytest.approx(expected, rel=1e-5)


def test_padding_that_is_not_masked_is_found_out():
    states = {"query": [draw(3, 4, 6, seed=1)]}, {"query": [draw(3, 4, 6, seed=2)]}

    class Unmasked(Relations):
        def distance(self, student, teacher, mask):
            return super().distance(student, teacher, np.ones_like(mask))

    with pytest.raises(AssertionError):
        measure(Unmasked(*NEEDS, 2), *(Read([], layer_states) for layer_states in states))
