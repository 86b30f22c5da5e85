"""Mean and standard deviation of a regression's targets, by which they are standardized for training."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

# The rule of `fit_float32`, for error messages.
TOO_CLOSE = "differ by far more than float32 rounds them: subtract an offset, such as their mean, from all of them"


def fit_float32(numbers: Sequence[float]) -> bool:
    """Whether float32 resolves the differences of numbers: it moves none by 0.1 % of their standard deviation."""
    exact = np.asarray(numbers, "float64")
    rounding = np.abs(exact - exact.astype("float32")).max(initial=0.0)
    return len(set(numbers)) < 2 or bool(rounding <= 1e-3 * exact.std())


class TargetScale(NamedTuple):
    """A linear scale in the targets' unit: `number = mean + standard_deviation * standardized`."""

    mean: float = 0.0
    standard_deviation: float = 1.0

    @classmethod
    def of(cls, targets: Iterable[float]) -> "TargetScale":
        """The scale on which the targets have mean 0 and standard deviation 1; deviation 1 where all are equal."""
        # Rounded to float32, as in the head's weights, so that a saved scale is equal to this one.
        values = np.asarray(list(targets), "float64")
        # The mean of equal numbers is rounded, and their deviation from it is not 0.
        exact = values.std() if np.ptp(values) else 0.0
        mean, deviation = (float(np.float32(value)) for value in (values.mean(), exact))
        return cls(mean, deviation if deviation > 0 else 1.0)
