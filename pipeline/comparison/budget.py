"""What each variant may spend on pre-training, as steps."""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self

from components.artifacts.step_cost import COST_FILE
from components.dsl.artifact import Artifact
from components.dsl.errors import InputError
from components.training.costs import cost_after, steps_within

Unit = Literal["flops", "seconds"]


class Cost(NamedTuple):
    """What a step of a variant's pre-training costs.

    Attributes:
        flops: on rows of each length, the shorter first.
        seconds: likewise; none where nothing was timed.
        bytes_a_piece: see `StepCost`.
        short: share of the steps that are on the shorter rows of two lengths.
    """

    flops: tuple[float, ...]
    seconds: tuple[float, ...]
    bytes_a_piece: float
    short: float

    @classmethod
    def read(cls, artifact: Artifact, short: float) -> Self:
        """What a `StepCost` says."""
        content: Mapping[str, Any] = json.loads(artifact.file(COST_FILE).read_text())
        flops, seconds = (
            tuple(entry[unit] for entry in content["lengths"] if unit in entry) for unit in ("flops", "seconds")
        )
        return cls(flops, seconds, content["bytes_a_piece"], short)

    def flops_after(self, done: int, steps: int) -> float:
        """Of the first so many of all steps."""
        return cost_after(self.flops, self.short, done, steps)


class Budget(NamedTuple):
    """What each variant may spend.

    Attributes:
        unit: of operations, or of time.
        amount: how many.
    """

    unit: Unit
    amount: float

    @classmethod
    def of(cls, flops: float | None, minutes: float | None) -> Self | None:
        """What the command line says, None where it says nothing.

        Raises:
            InputError: both are given, or one that is not positive.
        """
        if flops is not None and minutes is not None:
            raise InputError(f"--minutes must be left out where --flops is given, got {minutes:g} and {flops:g}")
        for name, value in (("--flops", flops), ("--minutes", minutes)):
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{name} must be positive and finite, got {value:g}")
        if flops is None and minutes is None:
            return None
        return cls("flops", flops) if flops is not None else cls("seconds", 60 * (minutes or 0.0))

    def steps(self, cost: Cost) -> int:
        """The most steps within it.

        Raises:
            InputError: not even one is.
        """
        costs = cost.flops if self.unit == "flops" else cost.seconds
        steps = steps_within(costs, cost.short, self.amount)
        if not steps:
            one = cost_after(costs, cost.short, 1, 1)
            option, scale = ("--flops", 1.0) if self.unit == "flops" else ("--minutes", 60.0)
            raise InputError(f"{option} must be enough for a step, {one / scale:.3g}, got {self.amount / scale:g}")
        return steps
