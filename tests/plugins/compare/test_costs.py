"""Costs of steps on rows of two lengths, and the most steps within a budget."""

import pytest

from components.training.pretraining import count_short_steps
from plugins.compare.costs import cost_after, steps_within


def test_short_rows_come_first():
    assert [cost_after([2.0, 10.0], 0.5, done, 4) for done in range(5)] == [0, 2, 4, 14, 24]
    assert [cost_after([10.0], 0.5, done, 4) for done in range(5)] == [0, 10, 20, 30, 40]


@pytest.mark.parametrize("costs", [[7.0], [7.0, 7.0], [2.0, 10.0], [1.0, 33.3]])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_no_more_steps_are_within_the_budget(costs, share):
    for budget in (0.5, 7.0, 69.9, 70.0, 1234.5):
        most = steps_within(costs, share, budget)
        whole = [cost_after(costs, share, steps, steps) for steps in range(int(budget) + 2)]
        assert most == max(steps for steps, cost in enumerate(whole) if cost <= budget)


def test_the_share_of_short_steps_is_rounded():
    assert [count_short_steps(0.9, steps) for steps in (1, 5, 100)] == [1, 4, 90]
