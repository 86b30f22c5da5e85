"""Rules that values must keep."""

import math
import numbers
from typing import Any


def check(owner: str, field: str, holds: bool, rule: str, value: Any) -> None:
    """Raises ValueError `owner.field must rule, got value` unless the rule holds; a number must be finite in any case.

    Infinity keeps most rules of one bound, and makes weights NaN far from where it was set.
    """
    # Whole numbers are finite, and may be too large for `math.isfinite`.
    if holds and isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        holds, rule = math.isfinite(value), "be a finite number"
    if not holds:
        raise ValueError(f"{owner}.{field} must {rule}, got {value!r}")
