"""The total cost of pre-training steps, on short rows first and then on long ones, in any unit."""

from collections.abc import Sequence


def count_short_steps(share: float, steps: int) -> int:
    """The number of steps on short rows: the first ones, if there are short rows."""
    return round(share * steps)


def cost_after(costs: Sequence[float], share: float, done: int, steps: int) -> float:
    """The cost of the first `done` steps of a training.

    `costs` are those of a step on rows of each length, one or two, the shorter first; `share` is that of the steps on
    the shorter rows of two lengths.
    """
    short = min(done, count_short_steps(share, steps)) if len(costs) > 1 else 0
    return short * costs[0] + (done - short) * costs[-1]


def steps_within(costs: Sequence[float], share: float, budget: float) -> int:
    """The most steps whose cost, see `cost_after`, is within a budget; 0 if it does not pay for one."""
    steps = int(budget / min(costs))
    # The cost never falls with more steps: neither the short ones nor the long ones become fewer.
    low, high = 0, steps
    while low < high:
        middle = (low + high + 1) // 2
        fits = cost_after(costs, share, middle, middle) <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
