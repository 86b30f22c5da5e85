"""Makes the references of tests/components/scoring/test_significance.py with statsmodels and scipy.

    python -m tests.golden.significance

Made with Python 3.11, statsmodels 0.15.0, scipy 1.17.1: p-values of McNemar's exact test, and percentile intervals of
the paired bootstrap of differences of right answers and of Spearman's correlations, with 20,000 samples.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from tests.components.scoring.paired_models import draw_labels, draw_numbers

FILE = Path(__file__).parent / "significance.json"
# Rows that the first model alone has right, and that the second alone has right.
DISCORDANT = ((0, 1), (0, 6), (3, 11), (12, 12), (20, 45), (150, 210))
SAMPLES = 20_000


def interval(statistic: Any, *data: Any) -> list[float]:
    """The percentile interval of a statistic of paired rows (..., rows)."""
    result = stats.bootstrap(data, statistic, paired=True, n_resamples=SAMPLES, batch=2000, method="percentile", rng=1)
    return [float(end) for end in result.confidence_interval]


def mean_difference(first: Any, second: Any, axis: int) -> Any:
    return first.mean(axis) - second.mean(axis)


def spearman_difference(first: Any, second: Any, truth: Any, axis: int) -> Any:
    ranks = [stats.rankdata(side, axis=axis) for side in (first, second, truth)]
    centred = [side - side.mean(axis, keepdims=True) for side in ranks]
    one, other = ((side * centred[2]).sum(axis) / np.sqrt((side**2).sum(axis)) for side in centred[:2])
    return (one - other) / np.sqrt((centred[2] ** 2).sum(axis))


def main() -> None:
    table = [[[100, first], [second, 20]] for first, second in DISCORDANT]
    labels, numbers = draw_labels(), draw_numbers()
    right = [[float(answer == label) for answer, label in zip(side, labels.truth, strict=True)] for side in labels[1:]]
    content = {
        "mcnemar": [float(mcnemar(cells, exact=True).pvalue) for cells in table],
        "accuracy": interval(mean_difference, *right),
        "spearman": interval(spearman_difference, numbers.first, numbers.second, numbers.truth),
    }
    FILE.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
