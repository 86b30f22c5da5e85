"""Errors of steps: input that cannot be used, and refusals; hints at similar names."""

import difflib
from collections.abc import Iterable

# The most names in an error message.
_SHOWN = 20


class InputError(ValueError):
    """The user's input cannot be used: one line with the field, the rule, the value and the way out."""


class Refusal(Exception):
    """A step ran correctly and its answer is no (a model that is not blessed); steps that read from it do not run."""


def nearest(name: str, valid: Iterable[str], otherwise: str = "") -> str:
    """The end of an error message about an unknown name: the nearest valid name, or the first 20 of all.

    `otherwise` is added if no valid name is near.
    """
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"; known: {', '.join(names[:_SHOWN])}{more}{otherwise}"
