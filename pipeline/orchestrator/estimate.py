"""Estimates the duration of a run from the last executions in its root."""

from collections.abc import Mapping
from typing import NamedTuple


class Estimate(NamedTuple):
    """The duration of steps that run one after the other.

    Attributes:
        seconds: the sum of the measured durations.
        measured: the steps with a measured duration.
        unmeasured: the other steps.
    """

    seconds: float
    measured: tuple[str, ...]
    unmeasured: tuple[str, ...]


def add_durations(durations: Mapping[str, float | None]) -> Estimate:
    """Adds up the durations of steps in seconds; None marks an unknown one."""
    measured = {name: seconds for name, seconds in durations.items() if seconds is not None}
    return Estimate(sum(measured.values()), tuple(measured), tuple(name for name in durations if name not in measured))
