"""Correlations of predicted and true numbers, as STS-B and GLUE report them (Wang et al. 2018, section 3.2)."""

from collections.abc import Sequence

import numpy as np


def correlations(predicted: Sequence[float], truth: Sequence[float]) -> dict[str, float]:
    """`pearson` and `spearman` over all rows, each -1 to 1.

    Raises:
        ValueError: there are fewer than 2 rows, not as many of one as of the other, or all numbers of one are equal:
            there is no correlation with a constant.
    """
    from scipy import stats

    for name, values in (("predicted", predicted), ("truth", truth)):
        if len(values) < 2 or np.ptp(values) == 0:
            raise ValueError(f"{name} must hold at least 2 different numbers, got {len(values)} of {len(set(values))}")
    if len(predicted) != len(truth):
        raise ValueError(f"truth must be as many as predicted ({len(predicted)}), got {len(truth)}")
    return {
        "pearson": float(stats.pearsonr(predicted, truth).statistic),
        "spearman": float(stats.spearmanr(predicted, truth).statistic),
    }
