"""The losses of angles: of tokens, of texts, and of all texts of a batch with each other."""

import numpy as np
import pytest

from keras_bert.objectives.imitation.base import Read
from keras_bert.objectives.imitation.cosine import Cosine
from keras_bert.objectives.imitation.similarities import Similarities
from keras_bert.objectives.imitation.vectors import Vectors
from tests.keras_bert.objectives.imitation.tensors import MASK, NEEDS, draw, measure


def cosine(first, second):
    return (first * second).sum(axis=-1) / np.linalg.norm(first, axis=-1) / np.linalg.norm(second, axis=-1)


def test_of_tokens():
    ours, theirs = draw(3, 4, 6, seed=0), draw(3, 4, 6, seed=1)
    expected = 1 - cosine(ours, theirs)[MASK > 0].mean()
    assert measure(Cosine(*NEEDS), Read([ours], {}), Read([theirs], {})) == pytest.approx(expected, rel=1e-5)
    assert measure(Cosine(*NEEDS), Read([ours], {}), Read([2 * ours], {})) == pytest.approx(0, abs=1e-6)


def test_of_texts():
    ours, theirs = draw(3, 6, seed=0), draw(3, 6, seed=1)
    expected = 1 - cosine(ours, theirs).mean()
    assert measure(Vectors(*NEEDS), Read([ours], {}), Read([theirs], {})) == pytest.approx(expected, rel=1e-5)


def test_of_all_texts_with_each_other_whatever_the_widths():
    ours, theirs = draw(3, 6, seed=0), draw(3, 4, seed=1)
    matrices = [np.array([[cosine(one, other) for other in vectors] for one in vectors]) for vectors in (ours, theirs)]
    expected = ((matrices[0] - matrices[1]) ** 2).mean()
    assert measure(Similarities(*NEEDS), Read([ours], {}), Read([theirs], {})) == pytest.approx(expected, rel=1e-5)
