"""Budgets become steps."""

import pytest

from components.dsl.errors import InputError
from components.training.pretraining import count_short_steps
from plugins.compare.artifacts import LengthCost, PretrainingStepCosts, StepCost
from plugins.compare.budget import Budget, PretrainingCost, cost_after, steps_within


def cost(folder, *entries):
    StepCost(folder).write(PretrainingStepCosts([LengthCost(**entry) for entry in entries], 4.5))
    return PretrainingCost.of(StepCost(folder).read(), short=0.9)


def test_the_most_steps_that_the_budget_pays(tmp_path):
    steps = cost(tmp_path, {"length": 16, "flops": 100, "seconds": 0.5}, {"length": 64, "flops": 500, "seconds": 2.0})
    assert steps == PretrainingCost((100, 500), (0.5, 2.0), 4.5, 0.9)
    assert Budget("flops", 1400).steps(steps) == 10, "nine short ones and a long one"
    assert Budget("flops", 1399).steps(steps) == 9
    assert Budget("seconds", 6.5).steps(steps) == 10
    assert [steps.flops_after(done, 10) for done in (0, 9, 10)] == [0, 900, 1400]


def test_a_budget_that_pays_no_step_says_what_one_costs(tmp_path):
    steps = cost(tmp_path, {"length": 64, "flops": 5.5e9, "seconds": 3.0})
    with pytest.raises(InputError, match=r"^--flops must be enough for a step, 5.5e\+09, got 1e\+09$"):
        Budget("flops", 1e9).steps(steps)
    with pytest.raises(InputError, match=r"^--minutes must be enough for a step, 0.05, got 0.01$"):
        Budget("seconds", 0.6).steps(steps)


def test_one_budget_or_none():
    assert Budget.of(None, None) is None
    assert Budget.of(2e14, None) == Budget("flops", 2e14)
    assert Budget.of(None, 1.5) == Budget("seconds", 90.0)


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
