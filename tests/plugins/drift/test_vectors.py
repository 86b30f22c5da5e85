"""Vectors of rows: rows of one source look the same, others are told apart."""

import numpy as np
import pytest

from plugins.drift.vectors import tell_apart


@pytest.mark.parametrize(("shift", "low", "high"), [(0.0, 0.42, 0.58), (1.0, 0.8, 1.0)])
def test_a_classifier_tells_shifted_vectors_apart(shift, low, high):
    rows = np.random.default_rng(0).normal(size=(600, 64))
    rows[200:, :4] += shift
    assert low < tell_apart(rows[:200], rows[200:]) < high
