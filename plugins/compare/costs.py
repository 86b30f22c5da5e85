"""The cost of pre-training steps, first on short rows, then on long rows, in any unit."""

from collections.abc import Sequence

from components.training.pretraining import count_short_steps


def cost_after(costs: Sequence[float], share: float, done: int, steps: int) -> float:
    """The cost of the first `done` steps of a training.

    `costs` are the costs of a step for one or two row lengths, the shorter first. `share` is the share of the steps on
    the shorter rows.
    """
    short = min(done, count_short_steps(share, steps)) if len(costs) > 1 else 0
    return short * costs[0] + (done - short) * costs[-1]


def steps_within(costs: Sequence[float], share: float, budget: float) -> int:
    """Returns the largest number of steps whose cost (`cost_after`) is within a budget, possibly 0."""
    steps = int(budget / min(costs))
    # The cost never decreases with more steps: neither short nor long steps become fewer.
    low, high = 0, steps
    while low < high:
        middle = (low + high + 1) // 2
        fits = cost_after(costs, share, middle, middle) <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
