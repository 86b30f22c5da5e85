"""Which of the candidates that fit are trained."""

from plugins.search.front import capacity, distance, select_distant, select_maximal_fitting, select_uncontained
from plugins.search.limits import Limits
from plugins.search.sizes import Footprint
from tests.plugins.search.grids import WHOLE, grid

LIMITS = Limits(megabytes=10.0, min_share=0.9)


def test_only_what_cannot_grow_within_the_limits(tmp_path):
    candidates = grid(tmp_path)
    # Each layer is a megabyte, each head a third of one; all else weighs nothing.
    weights = {
        candidate: Footprint(candidate.layers + candidate.heads / 3 + 3.5, 1.0, 1.0) for candidate in candidates.members
    }
    best = select_maximal_fitting(candidates, weights, LIMITS)
    shapes = [(candidate.layers, candidate.heads) for candidate in best]
    assert shapes == [(4, 6), (2, 12)]
    assert {candidate._replace(layers=6, heads=12) for candidate in best} == {WHOLE}
    assert select_maximal_fitting(candidates, weights, LIMITS._replace(megabytes=4.0)) == []


def test_a_candidate_within_another_is_left_out():
    coarse = WHOLE._replace(recipe="weights_wi4")
    few, narrow = WHOLE._replace(layers=3), WHOLE._replace(heads=6, vocabulary_size=8000)
    assert select_uncontained([few, coarse, narrow, WHOLE]) == [WHOLE]
    assert select_uncontained([few, narrow, coarse]) == [coarse, narrow, few]


def test_those_chosen_are_far_from_one_another():
    half, quarter = WHOLE._replace(units=768), WHOLE._replace(units=384)
    few = WHOLE._replace(layers=3, heads=3)
    assert capacity(WHOLE) - capacity(few) == distance(WHOLE, few) == 2
    assert distance(half, quarter) == 0.5
    assert distance(WHOLE, WHOLE._replace(recipe="weights_wi4")) == 0.5
    assert select_distant([half, quarter, few], 2) == [half, few]
    assert select_distant([half, quarter, few], 2, chosen=[few]) == [quarter, half]
    assert select_distant([half, quarter], 5) == [half, quarter]
    assert select_distant([half], 0) == []
