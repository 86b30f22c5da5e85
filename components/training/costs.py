"""What the steps of a pre-training cost together, on short rows first and then on long ones, in any unit."""

from collections.abc import Sequence


def count_short_steps(share: float, steps: int) -> int:
    """How many of the steps are on short rows, where there are any: the first ones."""
    return round(share * steps)


def cost_after(costs: Sequence[float], share: float, done: int, steps: int) -> float:
    """What the first `done` of so many steps cost.

    Args:
        costs: of a step on rows of each length, one or two, the shorter first.
        share: of the steps that are on the shorter ones of two.
        done: steps done.
        steps: of the whole training.
    """
    short = min(done, count_short_steps(share, steps)) if len(costs) > 1 else 0
    return short * costs[0] + (done - short) * costs[-1]


def steps_within(costs: Sequence[float], share: float, budget: float) -> int:
    """The most steps whose cost is within a budget; 0 where not even one is. See `cost_after`."""
    steps = int(budget / min(costs))
    # One more step never costs less in all: of short steps and long ones each has at least as many.
    low, high = 0, steps
    while low < high:
        middle = (low + high + 1) // 2
        fits = cost_after(costs, share, middle, middle) <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
