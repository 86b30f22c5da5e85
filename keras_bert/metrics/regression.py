"""Scores of numbers: their errors, and their correlations."""

from collections.abc import Sequence

import numpy as np


def number_errors(predicted: Sequence[float], truth: Sequence[float]) -> dict[str, float]:
    """The errors of a regression over all rows: `r2`, `rmse` and `mae`.

    `rmse` is the root of the mean squared error and `mae` the mean absolute error, both in the unit of the numbers.
    `r2` is the coefficient of determination, 1 - squared errors / squared distances of the truth from its mean: 1 for
    exact predictions, 0 for the mean of the truth, below 0 for predictions that are worse than the mean.

    Raises:
        ValueError: the numbers of predictions and true values differ, or all true values are equal: `r2` is undefined.

    Examples:
        >>> number_errors([1.0, 2.0, 6.0], [1.0, 3.0, 5.0])["r2"]
        0.75
    """
    if len(predicted) != len(truth):
        raise ValueError(f"truth must hold {len(predicted)} numbers, as many as predicted, got {len(truth)}")
    if len(truth) < 2 or np.ptp(truth) == 0:
        raise ValueError(f"truth must hold at least 2 different numbers, got {len(set(truth))} in {len(truth)} values")
    answers, targets = np.asarray(predicted, "float64"), np.asarray(truth, "float64")
    errors = answers - targets
    squares = float(np.mean(errors**2))
    return {"r2": 1 - squares / float(targets.var()), "rmse": squares**0.5, "mae": float(np.abs(errors).mean())}


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
