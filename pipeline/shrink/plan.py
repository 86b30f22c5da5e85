"""Successive halving within a time: many candidates train a little, the best third of them three times as long.

After Jamieson and Talwalkar 2016 (algorithm 1), with a third in the place of a half, as Li et al. 2018 (section 3.6).
"""

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

from components.dsl.errors import InputError
from pipeline.shrink.candidates import Candidate

# How many times fewer candidates each round has, and how many times longer each of them trains.
FACTOR = 3
# More are not worth their first round, which trains each for a ninth or less.
MOST = 27


class Costs(NamedTuple):
    """What the parts of a search take, in seconds.

    Attributes:
        weighing: to weigh a candidate.
        begin: of a training, before its steady steps.
        training: the steps of the job's whole distillation, validations too.
        finishing: to round, write or score a model.
        last: all that the winner takes beside its distillation.
    """

    weighing: float
    begin: float
    training: float
    finishing: float
    last: float

    def trial(self, share: float) -> float:
        """A candidate's training for a share of the job's, rounded and scored."""
        return self.begin + share * self.training + self.finishing

    def times(self, factor: float) -> Self:
        """As they are where all takes so many times as long."""
        return type(self)(*(factor * each for each in self))

    def winner(self) -> float:
        """The job's own training, files and measures."""
        return self.begin + self.training + self.last


class Round(NamedTuple):
    """How many candidates train for which share of the job's distillation."""

    candidates: int
    share: float


def rounds_of(count: int) -> tuple[Round, ...]:
    """The rounds that leave one of so many; none where there is but one."""
    counts = []
    while count > 1:
        counts.append(count)
        count = math.ceil(count / FACTOR)
    return tuple(Round(each, float(FACTOR) ** (place - len(counts))) for place, each in enumerate(counts))


def seconds_of(count: int, costs: Costs) -> float:
    """What rounds from so many candidates on take, with the winner's own training."""
    return sum(each.candidates * costs.trial(each.share) for each in rounds_of(count)) + costs.winner()


def plan_count(costs: Costs, spent: float, limit: float, most: int = MOST) -> int:
    """From how many candidates on a search is done in time.

    Args:
        costs: what its parts take.
        spent: seconds so far.
        limit: seconds in all.
        most: how many there are.

    Raises:
        InputError: not even one can be trained in time.
    """
    for count in range(min(most, MOST), 0, -1):
        if spent + count * costs.weighing + seconds_of(count, costs) <= limit:
            return count
    least = math.ceil((spent + costs.weighing + costs.winner()) / 6) / 10
    raise InputError(
        f"--minutes must be at least {least:g} for this job, which trains one candidate for about "
        f"{costs.winner() / 60:.1f}, got {limit / 60:g}"
    )


def keep_best(scores: Mapping[Candidate, float], count: int) -> list[Candidate]:
    """The best so many, the best first; of equal ones those that came first."""
    return sorted(scores, key=lambda each: -scores[each])[:count]


def affordable(count: int, done: int, planned: tuple[Round, ...], costs: Costs, left: float) -> int:
    """How many of the planned candidates the next round can have in the time that is left, at least one.

    Args:
        count: as planned.
        done: rounds.
        planned: all rounds.
        costs: as they turned out so far.
        left: seconds.
    """
    for fewer in range(count, 1, -1):
        rest, now = costs.winner(), fewer
        for each in planned[done:]:
            rest += min(now, each.candidates) * costs.trial(each.share)
            now = math.ceil(now / FACTOR)
        if rest <= left:
            return fewer
    return 1
