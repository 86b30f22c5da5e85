"""What a step may say no with, and a hint at the name that was meant."""

import difflib
from collections.abc import Iterable

# Names in an error message, of however many there are.
_SHOWN = 20


class InputError(ValueError):
    """What the user gave cannot be used: one line that names the field, the rule and the value."""


class Refusal(Exception):
    """A step ran as it should and its answer is no (a model that is not blessed); later steps do not run."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name: the nearest known one, or the first 20 of all."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"; known: {', '.join(names[:_SHOWN])}{more}"
