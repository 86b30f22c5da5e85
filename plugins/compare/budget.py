"""The pre-training budget of each variant, and the steps that it pays for."""

from typing import Literal, NamedTuple, Self

from components.dsl.errors import InputError
from plugins.compare.artifacts import PretrainingStepCosts
from plugins.compare.costs import cost_after, steps_within

Unit = Literal["flops", "seconds"]


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
