"""Mean and standard deviation of the numbers that a regression learns: it trains on standardized ones."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class TargetScale(NamedTuple):
    """A linear scale: `number = mean + standard_deviation * standardized`.

    Attributes:
        mean: of the targets, in their unit.
        standard_deviation: of the targets, in their unit; above 0.

    Examples:
        >>> scale = TargetScale(mean=5200.0, standard_deviation=1800.0)
        >>> scale.mean + scale.standard_deviation * 0.5
        6100.0
    """

    mean: float = 0.0
    standard_deviation: float = 1.0

    @classmethod
    def of(cls, targets: Iterable[float]) -> "TargetScale":
        """The scale on which the targets have mean 0 and standard deviation 1; deviation 1 where all are equal.

        Examples:
            >>> TargetScale.of([3400.0, 7000.0])
            TargetScale(mean=5200.0, standard_deviation=1800.0)
        """
        # As the head keeps them: a saved scale is then the very same.
        values = np.asarray(list(targets), "float64")
        mean, deviation = (float(np.float32(value)) for value in (values.mean(), values.std()))
        return cls(mean, deviation if deviation > 0 else 1.0)
