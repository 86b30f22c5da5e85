"""The time of a search."""

import pytest

from components.dsl.errors import InputError
from plugins.search.budget import SearchBudget, StageCosts, check_stage, kept_seconds


def test_a_budget_of_options():
    assert SearchBudget.of(2.0, None, 3) == SearchBudget(120.0, None, 3)


@pytest.mark.parametrize(
    ("minutes", "trials", "seeds", "message"),
    [
        (0.0, None, 3, "--minutes must be positive and finite, got 0"),
        (float("inf"), None, 3, "--minutes must be positive and finite, got inf"),
        (float("nan"), None, 3, "--minutes must be positive and finite, got nan"),
        (1.0, 0, 3, "--trials must be at least 1, got 0"),
        (1.0, 1, 0, "--seeds must be from 1 to 100, got 0"),
        (1.0, 1, 101, "--seeds must be from 1 to 100, got 101"),
    ],
)
def test_a_value_out_of_range(minutes, trials, seeds, message):
    with pytest.raises(InputError) as caught:
        SearchBudget.of(minutes, trials, seeds)
    assert str(caught.value) == message


def test_the_time_of_repetitions_has_the_later_stages_of_all_seeds():
    assert StageCosts(trial=10.0, later=1.0).repetition(20.0, seeds=3) == 43.0


def test_the_teachers_of_single_tasks_are_planned_once_a_seed():
    alone, taught = StageCosts(10.0, 0.0), StageCosts(10.0, 0.0, singles=7.0)
    kept = [kept_seconds(costs, [10.0], seeds=3, seconds=1000.0) for costs in (alone, taught)]
    assert kept[1] - kept[0] == 14.0, "the first seed has its teachers already"
    check_stage(taught, seeds=3, seconds=81.0, spent=0.0, shares=1)
    with pytest.raises(InputError, match="--minutes must be at least"):
        check_stage(taught, seeds=3, seconds=80.0, spent=0.0, shares=1)


def test_a_time_that_is_too_short_says_how_much_is_needed():
    costs = StageCosts(60.0, 0.0)
    check_stage(costs, seeds=3, seconds=360.0, spent=0.0, shares=2)
    rule = r"^--minutes must be at least 12 for this job, whose training takes 1, got 10; fewer --seeds need less$"
    with pytest.raises(InputError, match=rule):
        check_stage(costs, seeds=3, seconds=300.0, spent=0.0, shares=2)
    rule = r"^--minutes must be at least 7 for this job, .*, got 6;"
    with pytest.raises(InputError, match=rule):
        check_stage(costs, seeds=3, seconds=300.0, spent=60.0, shares=1)


def test_repetitions_keep_half_of_the_time_unless_two_settings_need_more():
    costs = StageCosts(10.0, 0.0)
    assert kept_seconds(costs, [10.0, 20.0], seeds=3, seconds=1000.0) == 80.0
    assert kept_seconds(costs, [10.0, 20.0], seeds=3, seconds=100.0) == 50.0
    assert kept_seconds(costs, [30.0, 20.0], seeds=3, seconds=100.0) == 80.0
