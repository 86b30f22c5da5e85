import numpy as np
import pytest

from keras_bert.objectives.imitation.base import Read
from keras_bert.objectives.imitation.hidden_states import HiddenStates
from tests.keras_bert.objectives.imitation.tensors import MASK, NEEDS, draw, measure


def test_the_mean_squared_difference_of_each_pair_of_layers_added_up():
    ours, theirs = ([draw(3, 4, 6, seed=seed + layer) for layer in range(2)] for seed in (0, 10))
    real = MASK > 0
    expected = sum(((ours_[real] - other[real]) ** 2).mean() for ours_, other in zip(ours, theirs, strict=True))
    assert measure(HiddenStates(*NEEDS), Read(ours, {}), Read(theirs, {})) == pytest.approx(expected, rel=1e-6)
    assert measure(HiddenStates(*NEEDS), Read(ours, {}), Read([*map(np.copy, ours)], {})) == 0


def test_embeddings_have_a_matrix_of_their_own():
    names = [HiddenStates(*NEEDS).projection(state) for state in range(3)]
    assert names == ["embeddings_hidden_states_projection", *["hidden_states_projection"] * 2]
