"""Figures of rankings of planted labels, also of few rows."""

import numpy as np

from benchmarks.label_errors import describe


def test_recall_ends_with_the_rows():
    ranked = np.array([True, False, True])
    assert describe(ranked, 2) == {
        "precision at k / 2": "100.0%",
        "precision = recall at k": "50.0%",
        "recall at 2 k": "100.0%",
        "average precision": "83.3%",
    }
