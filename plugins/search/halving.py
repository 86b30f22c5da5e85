"""Plans successive halving within a time limit: many candidates train briefly, the best third three times as long.

Jamieson and Talwalkar 2016 (algorithm 1), with a third instead of a half as in Li et al. 2018 (section 3.6).
"""

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

from plugins.search.budget import check_minutes
from plugins.search.candidates import Candidate

# Every round has this many times fewer candidates, which train this many times longer.
FACTOR = 3
# With more candidates, each would train too shortly in the first round: for a ninth of the distillation or less.
MOST = 27


class Costs(NamedTuple):
    """Durations of the parts of a search in seconds."""

    measuring: float
    begin: float
    training: float
    finishing: float
    last: float

    def trial(self, share: float) -> float:
        """Training a candidate for a share of the job's distillation, quantizing and scoring it."""
        return self.begin + share * self.training + self.finishing

    def times(self, factor: float) -> Self:
        """The durations multiplied by a factor."""
        return type(self)(*(factor * duration for duration in self))

    def winner(self) -> float:
        """Training, exporting and measuring the winner as in a run of the job."""
        return self.begin + self.training + self.last


class Round(NamedTuple):
    """A round: the number of candidates, and the share of the job's distillation that they train for."""

    candidates: int
    share: float


def rounds_of(count: int) -> tuple[Round, ...]:
    """The rounds that reduce `count` candidates to one; none for a single candidate."""
    counts = []
    while count > 1:
        counts.append(count)
        count = math.ceil(count / FACTOR)
    shares = (float(FACTOR) ** (number - len(counts)) for number in range(len(counts)))
    return tuple(map(Round, counts, shares))


def seconds_of(count: int, costs: Costs) -> float:
    """The duration of all rounds with `count` candidates, and of the winner's training."""
    return sum(planned.candidates * costs.trial(planned.share) for planned in rounds_of(count)) + costs.winner()


def plan_count(costs: Costs, spent: float, limit: float, most: int = MOST) -> int:
    """The number of candidates that a search can start with to finish in time."""
    check_one_candidate(costs, spent, limit, measurements=1)
    for count in range(min(most, MOST), 1, -1):
        if spent + count * costs.measuring + seconds_of(count, costs) <= limit:
            return count
    return 1


def check_one_candidate(costs: Costs, spent: float, limit: float, measurements: int) -> None:
    """Raises InputError if the time does not suffice for one candidate."""
    needed = spent + measurements * costs.measuring + costs.winner()
    check_minutes(needed, limit, f"which trains one candidate for about {costs.winner() / 60:.1f}")


def keep_best(scores: Mapping[Candidate, float], count: int) -> list[Candidate]:
    """The `count` best candidates, the best first; ties keep their order."""
    return sorted(scores, key=lambda candidate: -scores[candidate])[:count]


def affordable(count: int, done: int, planned: tuple[Round, ...], costs: Costs, left: float) -> int:
    """The number of candidates that the next round can train in the remaining time, at least one."""
    for fewer in range(count, 1, -1):
        seconds, remaining = costs.winner(), fewer
        for following in planned[done:]:
            seconds += min(remaining, following.candidates) * costs.trial(following.share)
            remaining = math.ceil(remaining / FACTOR)
        if seconds <= left:
            return fewer
    return 1
