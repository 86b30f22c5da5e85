"""The time of a search: how long trials and the repetitions of the best few may take."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

from components.dsl.errors import InputError
from pipeline.search.runs import seconds_of_minutes

MOST_SEEDS = 100
# The share of a stage that is kept for repetitions at most, unless two settings need more.
_MOST_KEPT = 0.5


class SearchBudget(NamedTuple):
    """The limits of a search.

    Attributes:
        seconds: the time of all stages, rows and initial models aside.
        trials: the most trials of a stage besides the job's own settings; None for as many as fit.
        seeds: the number of seeds of the best few.
    """

    seconds: float
    trials: int | None
    seeds: int

    @classmethod
    def of(cls, minutes: float, trials: int | None, seeds: int) -> Self:
        """The budget of the command line's options.

        Raises:
            InputError: a value is out of range.
        """
        if trials is not None and trials < 1:
            raise InputError(f"--trials must be at least 1, got {trials}")
        if not 1 <= seeds <= MOST_SEEDS:
            raise InputError(f"--seeds must be from 1 to {MOST_SEEDS}, got {seeds}")
        return cls(seconds_of_minutes(minutes), trials, seeds)


class StageCosts(NamedTuple):
    """Durations in a stage of a search, in seconds.

    Attributes:
        trial: a training of the job's own settings.
        later: the stages that follow it.
    """

    trial: float
    later: float

    def repetition(self, trial: float, seeds: int) -> float:
        """The other seeds of a setting whose training takes `trial` seconds, and the later stages of all seeds."""
        return (seeds - 1) * trial + seeds * self.later


def check_time(costs: StageCosts, seeds: int, seconds: float, spent: float, shares: int) -> None:
    """Checks that a stage has time for a trial, and for two settings with all seeds.

    Args:
        costs: durations of the job's own settings, which are trained by now.
        seeds: the number of seeds.
        seconds: the time of the stage.
        spent: the time of the stages before.
        shares: the number of stages, this one among them, that share what is left.

    Raises:
        InputError: it has not.
    """
    needed = 2 * costs.trial + 2 * costs.repetition(costs.trial, seeds)
    if needed > seconds:
        raise InputError(
            f"--minutes must be at least {math.ceil((spent + shares * needed) / 6) / 10:g} for this job, whose "
            f"training takes {costs.trial / 60:.2g}, got {(spent + shares * seconds) / 60:.2g}; fewer --seeds need less"
        )


def kept_seconds(costs: StageCosts, finalists: Sequence[float], seeds: int, seconds: float) -> float:
    """The time that is kept for repetitions while trials run.

    Args:
        costs: durations of the job's own settings.
        finalists: seconds of the trainings of the best few so far, the best first; the job's own not among them.
        seeds: the number of seeds.
        seconds: the time of the stage.
    """
    baseline = costs.repetition(costs.trial, seeds)
    repetitions = [costs.repetition(trial, seeds) for trial in finalists]
    return max(baseline + sum(repetitions[:1]), min(baseline + sum(repetitions), _MOST_KEPT * seconds))
