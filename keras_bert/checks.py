"""Rules that values must keep."""

from typing import Any


def check(owner: str, field: str, holds: bool, rule: str, value: Any) -> None:
    """Raises ValueError `owner.field must rule, got value` unless the rule holds."""
    if not holds:
        raise ValueError(f"{owner}.{field} must {rule}, got {value!r}")
