"""Significance of the difference between a variant and the baseline, which are trained with the same seeds."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")

# The level of significance.
LEVEL = 0.05


class Difference(NamedTuple):
    """The mean of paired differences with its confidence interval; all but the mean are None for one pair."""

    mean: float
    low: float | None
    high: float | None
    p: float | None


def paired_difference(values: Sequence[float], baseline: Sequence[float]) -> Difference:
    """The difference of values from the baseline's values for the same seeds: the paired t-test (Student 1908).

    A single pair has no spread. Pairs with equal differences have none either: scores on few rows take few values, so
    equal differences do not predict the next seed.
    """
    differences = [value - other for value, other in zip(values, baseline, strict=True)]
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
    # Equal differences may differ in the last bits.
    if error <= 1e-12 * max(map(abs, (*values, *baseline))):
        return Difference(mean, None, None, None)
    from scipy.special import stdtr

    half = half_width(len(differences)) * error * math.sqrt(len(differences))
    return Difference(mean, mean - half, mean + half, 2 * float(stdtr(len(differences) - 1, -abs(mean) / error)))


def half_width(seeds: int) -> float:
    """Half of the width of the confidence interval, in standard deviations of the differences."""
    from scipy.special import stdtrit

    return float(stdtrit(seeds - 1, 1 - LEVEL / 2)) / math.sqrt(seeds)


def significant(tests: Mapping[T, float | None]) -> set[T]:
    """The tests that reject their null hypothesis with a family-wise error rate of `LEVEL` (Holm 1979).

    A p-value that cannot be computed is None.
    """
    p_values = {name: p for name, p in tests.items() if p is not None}
    rejected: set[T] = set()
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        if p_values[name] > LEVEL / (len(p_values) - place):
            break
        rejected.add(name)
    return rejected
