"""Rules that values must keep."""

import difflib
import math
import numbers
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

# Models compute, and records hold numbers, in float32 (IEEE 754, binary32).
_LARGEST_FLOAT32 = (2 - 2.0**-23) * 2.0**127


class FieldError(ValueError):
    """A field breaks a rule; the message is the line `owner.field must rule, got value`, then the hint.

    Attributes:
        rule: the rule as the end of a sentence that begins with "must".
        value: the value that breaks the rule; `...` for a field that is missing.
    """

    def __init__(self, owner: str, field: str, rule: str, value: Any, hint: str = "") -> None:
        # All arguments, so that another process can unpickle the error.
        super().__init__(owner, field, rule, value, hint)
        self.owner, self.field, self.rule, self.value, self.hint = owner, field, rule, value, hint

    def __str__(self) -> str:
        return self.describe(self.owner)

    def describe(self, owner: str) -> str:
        """The message with another owner, such as a table of the settings, or without one for an empty string."""
        got = "" if self.value is ... else f", got {self.value!r}"
        return f"{owner}{'.' if owner else ''}{self.field} must {self.rule}{got}{self.hint}"


def check(owner: str, field: str, holds: bool, rule: str, value: Any) -> None:
    """Raises FieldError `owner.field must rule, got value` unless the rule holds; a number must always be finite.

    Infinity keeps most rules of one bound, and makes weights NaN far from where it was set.
    """
    # Whole numbers are finite, and may be too large for `math.isfinite`.
    if holds and isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        holds, rule = math.isfinite(value), "be a finite number"
    if not holds:
        raise FieldError(owner, field, rule, value)


def as_list(name: str, column: Any, items: str = "values") -> list[Any]:
    """The values of a list, an iterator, or a column of NumPy, pandas, Polars, PyArrow or another library, in order.

    The index of a column of pandas is not that of its rows: `column[0]` may be any row, or none.

    Raises:
        TypeError: the column is one text, a set, a mapping or a table, or is not a collection.
    """
    rule = f"{name} must be a list of {items}, got"
    if isinstance(column, Mapping) or hasattr(column, "columns"):
        kind = type(column).__name__
        raise TypeError(f"{rule} a {kind}, which would be read as the names in it: give a column, as {name}['text']")
    if isinstance(column, set | frozenset):
        raise TypeError(f"{rule} a set, which has no order: give a list")
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        raise TypeError(f"{rule} {reprlib.repr(column)}")
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def nearest_name(name: str, valid: Iterable[str], similarity: float = 0.6) -> str:
    """The end of an error message about an unknown name: the valid name that is near; empty if none is.

    `similarity` is the least ratio of matching characters, see `difflib.get_close_matches`.
    """
    near = difflib.get_close_matches(name, valid, n=1, cutoff=similarity)
    return f"; the nearest is {near[0]!r}" if near else ""


def broken_float32_rule(number: float) -> str | None:
    """The rule that a number breaks if float32 cannot hold it; None if it can."""
    if not math.isfinite(number):
        return "be a finite number"
    rule = f"be at most {_LARGEST_FLOAT32:.5g} in size, the largest number of float32"
    return None if abs(number) <= _LARGEST_FLOAT32 else rule


def broken_label_rule(label: str) -> str | None:
    """The rule that a label breaks if it cannot stand on a separate line; None if it can.

    MediaPipe ends a line of its labels at a line feed and at a carriage return and a label at NUL, and answers an empty
    label without a name (measured with 1.2.2). Other line ends of Unicode, as U+2028 and U+0085, are part of a label.
    """
    if not label:
        return "not be empty"
    return "hold no line feed, carriage return or NUL" if {*"\n\r\0"} & {*label} else None
