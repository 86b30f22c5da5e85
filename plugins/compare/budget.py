"""The pre-training budget of each variant, and the steps that it pays for."""

import bisect
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self

from components.dsl.errors import InputError
from components.training.pretraining import count_short_steps
from plugins.compare.artifacts import PretrainingStepCosts

Unit = Literal["flops", "seconds"]


def cost_after(costs: Sequence[float], share: float, done: int, steps: int) -> float:
    """The cost of the first `done` steps of a training, in any unit.

    `costs` are the costs of a step for one or two row lengths, the shorter first. `share` is the share of the steps on
    the shorter rows, which come first.
    """
    short = min(done, count_short_steps(share, steps)) if len(costs) > 1 else 0
    return short * costs[0] + (done - short) * costs[-1]


def steps_within(costs: Sequence[float], share: float, budget: float) -> int:
    """The largest number of steps whose cost is within a budget, possibly 0."""
    # The cost never decreases with more steps: neither short nor long steps become fewer.
    numbers = range(1, int(budget / min(costs)) + 1)
    return bisect.bisect_right(numbers, budget, key=lambda steps: cost_after(costs, share, steps, steps))


class PretrainingCost(NamedTuple):
    """The cost of a variant's pre-training steps."""

    flops: tuple[float, ...]
    seconds: tuple[float, ...]
    bytes_an_entry: float
    short: float

    @classmethod
    def of(cls, costs: PretrainingStepCosts, short: float) -> Self:
        """The cost of a pre-training with a share of steps on short rows."""
        seconds = tuple(cost.seconds for cost in costs.lengths if cost.seconds is not None)
        return cls(tuple(cost.flops for cost in costs.lengths), seconds, costs.bytes_an_entry, short)

    def flops_after(self, done: int, steps: int) -> float:
        """The operations of the first `done` of all steps."""
        return cost_after(self.flops, self.short, done, steps)


class Budget(NamedTuple):
    """The pre-training budget of each variant."""

    unit: Unit
    amount: float

    @classmethod
    def of(cls, flops: float | None, minutes: float | None) -> Self | None:
        """The budget of the command line's options; None for neither option."""
        if flops is not None and minutes is not None:
            raise InputError(f"--minutes must be left out if --flops is given, got {minutes:g} and {flops:g}")
        for name, value in (("--flops", flops), ("--minutes", minutes)):
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{name} must be positive and finite, got {value:g}")
        if flops is None and minutes is None:
            return None
        return cls("flops", flops) if flops is not None else cls("seconds", 60 * (minutes or 0.0))

    def steps(self, cost: PretrainingCost) -> int:
        """The most steps that the budget pays for."""
        costs = cost.flops if self.unit == "flops" else cost.seconds
        steps = steps_within(costs, cost.short, self.amount)
        if not steps:
            one = cost_after(costs, cost.short, 1, 1)
            option, scale = ("--flops", 1.0) if self.unit == "flops" else ("--minutes", 60.0)
            raise InputError(f"{option} must be enough for a step, {one / scale:.3g}, got {self.amount / scale:g}")
        return steps
