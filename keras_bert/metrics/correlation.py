"""Correlations of predicted and true numbers, as STS-B and GLUE report them (Wang et al. 2018, section 3.2)."""

from collections.abc import Sequence

import numpy as np


def correlations(predicted: Sequence[float], truth: Sequence[float]) -> dict[str, float]:
    """Pearson's and Spearman's correlation of predicted and true numbers, `pearson` and `spearman`, -1 to 1.

    Raises:
        ValueError: there are fewer than 2 rows, the numbers of predictions and true values differ, one is not finite,
            or all predictions or all true values are equal: a correlation with a constant is undefined.

    Examples:
        >>> scores = correlations([1.0, 2.0, 30.0], [1.0, 2.0, 3.0])
        >>> round(scores["pearson"], 2), round(scores["spearman"], 2)
        (0.88, 1.0)
    """
    from scipy import stats

    for name, values in (("predicted", predicted), ("truth", truth)):
        for row in np.flatnonzero(~np.isfinite(values))[:1]:
            raise ValueError(f"{name} must hold finite numbers, got {values[row]} at index {row}")
        if len(values) < 2 or np.ptp(values) == 0:
            count = len(set(values))
            raise ValueError(f"{name} must hold at least 2 different numbers, got {count} in {len(values)} values")
    if len(predicted) != len(truth):
        raise ValueError(f"truth must hold {len(predicted)} numbers, as many as predicted, got {len(truth)}")
    return {
        "pearson": float(stats.pearsonr(predicted, truth).statistic),
        "spearman": float(stats.spearmanr(predicted, truth).statistic),
    }
