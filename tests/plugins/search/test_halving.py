"""How many candidates fit into a time limit, and which of them reach the next round."""

import pytest

from components.dsl.errors import InputError
from plugins.search.halving import Costs, Round, affordable, keep_best, plan_count, rounds_of, seconds_of
from tests.plugins.search.grids import WHOLE

COSTS = Costs(measuring=1.0, begin=2.0, training=90.0, finishing=3.0, last=20.0)


def test_each_round_has_a_third_of_the_candidates_and_three_times_the_training():
    assert rounds_of(1) == ()
    assert rounds_of(3) == (Round(3, 1 / 3),)
    assert rounds_of(4) == (Round(4, 1 / 9), Round(2, 1 / 3))
    assert rounds_of(10) == (Round(10, 1 / 27), Round(4, 1 / 9), Round(2, 1 / 3))


def test_seconds_of_rounds_and_the_winner():
    assert seconds_of(1, COSTS) == 2 + 90 + 20
    assert seconds_of(4, COSTS) == pytest.approx(4 * (5 + 10) + 2 * (5 + 30) + 112)


def test_as_many_candidates_as_there_is_time_for():
    # One takes 1 + 112, three 3 + 3 x 35 + 112, and ten seconds are gone.
    assert plan_count(COSTS, spent=10.0, limit=123.0) == 1
    assert plan_count(COSTS, spent=10.0, limit=230.1) == 3
    assert plan_count(COSTS, spent=10.0, limit=230.1, most=2) == 2
    assert plan_count(COSTS, spent=0.0, limit=1e9) == 27
    with pytest.raises(InputError, match=r"^--minutes must be at least 2.1 for this job, which trains one .* got 2$"):
        plan_count(COSTS, spent=10.0, limit=120.0)


def test_the_best_candidates_reach_the_next_round():
    few, coarse = WHOLE._replace(layers=3), WHOLE._replace(recipe="weights_wi4")
    scores = {WHOLE: 0.8, few: 0.9, coarse: 0.8}
    assert keep_best(scores, 2) == [few, WHOLE], "ties keep their order"
    assert keep_best(scores, 9) == [few, WHOLE, coarse]


def test_a_slower_round_leaves_fewer_candidates():
    planned = rounds_of(9)
    assert affordable(9, 0, planned, COSTS, seconds_of(9, COSTS)) == 9
    # After the first round: three for a third of the training and the winner.
    assert affordable(3, 1, planned, COSTS, 3 * 35 + 112) == 3
    assert affordable(3, 1, planned, COSTS, 3 * 35 + 111) == 2
    assert affordable(3, 1, planned, COSTS.times(2.0), 3 * 35 + 112) == 1
    assert affordable(3, 1, planned, COSTS, -5.0) == 1, "the winner is trained in any case"
