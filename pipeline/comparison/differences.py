"""Whether a variant differs from the baseline: over seeds, each of which both were trained with."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")

LEVEL = 0.05


class Difference(NamedTuple):
    """The mean of paired differences, as Student's t sees it; what n of them cannot tell is None.

    Attributes:
        mean: of the differences.
        low: where the interval begins that holds the true mean with a confidence of 1 - `LEVEL`.
        high: where it ends.
        p: the probability of a mean as far from 0 where there is no difference, two-sided.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None


def paired_difference(values: Sequence[float], baseline: Sequence[float]) -> Difference:
    """How far values are from the baseline's of the same seeds: the paired t-test (Student 1908).

    A single pair has no spread. Neither have several that differ all by the same: such is the grain of a score on few
    rows, and says nothing of the next seed.
    """
    differences = [value - other for value, other in zip(values, baseline, strict=True)]
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
    # What rounding leaves of equal differences is no spread.
    if error <= 1e-12 * max(map(abs, (*values, *baseline))):
        return Difference(mean, None, None, None)
    from scipy.special import stdtr

    half = half_width(len(differences)) * error * math.sqrt(len(differences))
    p = 2 * float(stdtr(len(differences) - 1, -abs(mean) / error))
    return Difference(mean, mean - half, mean + half, p)


def half_width(seeds: int) -> float:
    """Half of the interval's width, in standard deviations of the differences."""
    from scipy.special import stdtrit

    return float(stdtrit(seeds - 1, 1 - LEVEL / 2)) / math.sqrt(seeds)


def significant(tests: Mapping[T, float | None]) -> set[T]:
    """Those tests that hold together: of true nulls none is among them but with a probability of `LEVEL` (Holm 1979).

    Args:
        tests: name -> its p, None where there is none.
    """
    known = {name: p for name, p in tests.items() if p is not None}
    found: set[T] = set()
    for place, name in enumerate(sorted(known, key=lambda name: known[name])):
        if known[name] > LEVEL / (len(known) - place):
            break
        found.add(name)
    return found
