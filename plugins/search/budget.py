"""The time of a search, how many trials and seeds it has, and what a minute too few is answered."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

from components.dsl.errors import InputError

MOST_SEEDS = 100
# The share of a stage that is kept for repetitions at most, unless two settings need more.
_MOST_KEPT = 0.5


class SearchBudget(NamedTuple):
    """What a search may use: seconds, most trials of a stage besides the job's own settings, and seeds of the best few.

    The time does not count rows, initial models and a teacher that is not searched.
    """

    seconds: float
    trials: int | None
    seeds: int

    @classmethod
    def of(cls, minutes: float, trials: int | None, seeds: int) -> Self:
        """The budget of the command line's options."""
        if not 0 < minutes < float("inf"):
            raise InputError(f"--minutes must be positive and finite, got {minutes:g}")
        if trials is not None and trials < 1:
            raise InputError(f"--trials must be at least 1, got {trials}")
        if not 1 <= seeds <= MOST_SEEDS:
            raise InputError(f"--seeds must be from 1 to {MOST_SEEDS}, got {seeds}")
        return cls(60 * minutes, trials, seeds)


def check_minutes(needed: float, allowed: float, reason: str, hint: str = "") -> None:
    """Raises InputError if a search needs more seconds than it has."""
    if needed > allowed:
        raise InputError(
            f"--minutes must be at least {math.ceil(needed / 6) / 10:g} for this job, {reason}, got "
            f"{allowed / 60:.2g}{hint}"
        )


class StageCosts(NamedTuple):
    """Durations in a stage of a search, in seconds.

    `singles`: the teachers of one task each that a seed needs once, whatever the settings of its students.
    """

    trial: float
    later: float
    singles: float = 0.0

    def repetition(self, trial: float, seeds: int) -> float:
        """The other seeds of a setting whose training takes `trial` seconds, and the later stages of all seeds."""
        return (seeds - 1) * trial + seeds * self.later


def check_stage(costs: StageCosts, seeds: int, seconds: float, spent: float, shares: int) -> None:
    """Checks that a stage has time for a trial, and for two settings with all seeds."""
    needed = 2 * costs.trial + 2 * costs.repetition(costs.trial, seeds) + seeds * costs.singles
    reason = f"whose training takes {costs.trial / 60:.2g}"
    check_minutes(spent + shares * needed, spent + shares * seconds, reason, "; fewer --seeds need less")


def kept_seconds(costs: StageCosts, finalists: Sequence[float], seeds: int, seconds: float) -> float:
    """The time that is kept for repetitions while trials run."""
    baseline = costs.repetition(costs.trial, seeds) + (seeds - 1) * costs.singles
    repetitions = [costs.repetition(trial, seeds) for trial in finalists]
    return max(baseline + sum(repetitions[:1]), min(baseline + sum(repetitions), _MOST_KEPT * seconds))
