import numpy as np
import pytest

from keras_bert.objectives.imitation.attentions import Attentions
from keras_bert.objectives.imitation.base import Read
from tests.keras_bert.objectives.imitation.tensors import MASK, NEEDS, draw, measure

OURS, THEIRS = ([draw(3, 2, 4, 4, seed=seed + layer) for layer in range(2)] for seed in (0, 10))


def means(ours, theirs, hidden=()):
    """The mean over heads and pairs of tokens, one row of the batch after the other."""
    total, count = 0.0, 0
    for row, length in enumerate(MASK.sum(axis=1).astype(int)):
        squares = (ours[row, :, :length, :length] - theirs[row, :, :length, :length]) ** 2
        for place in hidden:
            if max(place) < length:
                squares[:, *place] = 0
        total, count = total + squares.sum(), count + squares.size
    return total / count


def of(scores):
    return Read([], {"scores": scores})


def test_the_mean_squared_difference_of_each_pair_of_layers_added_up():
    expected = sum(map(means, OURS, THEIRS))
    assert measure(Attentions(*NEEDS), of(OURS), of(THEIRS)) == pytest.approx(expected, rel=1e-6)


def test_what_one_of_both_hides_counts_as_equal():
    ours, theirs = OURS[0].copy(), THEIRS[0].copy()
    ours[:, :, 0, 3] -= 120
    theirs[:, :, 1, 0] -= 120
    expected = means(OURS[0], THEIRS[0], hidden=[(0, 3), (1, 0)])
    assert measure(Attentions(*NEEDS), of([ours]), of([theirs])) == pytest.approx(expected, rel=1e-6)


def test_as_many_heads_are_needed():
    with pytest.raises(ValueError, match=r"^scores must have the teacher's 2 heads, got 1$"):
        Attentions(*NEEDS).distance(of([OURS[0][:, :1]]), of([THEIRS[0]]), np.ones((3, 4)))
