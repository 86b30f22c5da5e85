import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bert.data.batch_plan import BatchPlan


def epoch(plan, number):
    return [plan.batch(number * plan.per_epoch + place) for place in range(plan.per_epoch)]


def test_batches_without_shuffling_are_in_order():
    plan = BatchPlan(5, 2, longest=9)
    assert plan.per_epoch == 3
    assert [(batch.epoch, batch.rows.tolist(), batch.width) for batch in map(plan.batch, range(4))] == [
        (0, [0, 1], 9),
        (0, [2, 3], 9),
        (0, [4], 9),
        (1, [0, 1], 9),
    ]
    plan = BatchPlan(7, 2, longest=9, lengths=np.array([9, 3, 1, 5, 8, 3, 2]), boundaries=(4, 6))
    assert [(batch.rows.tolist(), batch.width) for batch in epoch(plan, 0)] == [
        ([1, 2], 4),
        ([0, 4], 9),
        ([5, 6], 4),
        ([3], 6),
    ]


@pytest.mark.parametrize("options", [{}, {"boundaries": (4, 6)}, {"boundaries": (4, 6), "mixed": True}])
def test_rows_of_a_list_share_batches(options):
    lists, lengths = np.array([7, 7, 7, 2, 2, 7, 0, 0, 0, 0]), np.array([1, 2, 3, 9, 1, 5, 3, 3, 3, 4])
    plan = BatchPlan(10, 5, longest=9, lengths=lengths, lists=lists, shuffle=True, seed=1, **options)
    assert plan.per_epoch == 2, "four lists of 2.5 rows on average"
    whole = ([0, 1, 2], [3, 4], [5], [6, 7, 8, 9])
    for number in range(3):
        batches = epoch(plan, number)
        assert sorted(np.concatenate([batch.rows for batch in batches])) == list(range(10))
        for place, batch in enumerate(batches):
            rows = batch.rows.tolist()
            assert sum(len(part) for part in whole if set(part) <= set(rows)) == len(rows)
            assert lengths[batch.rows].max() <= batch.width
            parts = [plan.part(number * plan.per_epoch + place, share, 2).rows.tolist() for share in (0, 1)]
            assert sorted(parts[0] + parts[1]) == sorted(rows)
            assert all(part in whole for part in parts)


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=60),
    batch_size=st.integers(1, 9),
    boundaries=st.sets(st.integers(1, 29), max_size=4).map(sorted),
    shuffle=st.booleans(),
    seed=st.integers(0, 5),
)
def test_every_epoch_has_every_row_once(lengths, batch_size, boundaries, shuffle, seed):
    lengths = np.array(lengths)
    options = {"longest": 30, "lengths": lengths, "boundaries": boundaries}
    plan = BatchPlan(len(lengths), batch_size, shuffle=shuffle, seed=seed, **options)
    for number in range(3):
        batches = epoch(plan, number)
        assert sorted(np.concatenate([batch.rows for batch in batches])) == list(range(len(lengths)))
        for batch in batches:
            assert batch.epoch == number
            assert lengths[batch.rows].max() <= batch.width
            assert len(batch.rows) <= batch_size
        assert sum(len(batch.rows) == batch_size for batch in batches) == len(lengths) // batch_size


def test_orders_differ_by_seed_and_epoch_and_nothing_else():
    def order(seed, number):
        return np.concatenate(
            [batch.rows for batch in epoch(BatchPlan(50, 8, longest=4, shuffle=True, seed=seed), number)]
        )

    assert order(1, 0).tolist() == order(1, 0).tolist()
    assert order(1, 0).tolist() != order(1, 1).tolist()
    assert order(1, 0).tolist() != order(2, 0).tolist()
    places = np.array([order(seed, 0)[0] for seed in range(400)])
    assert len(set(places.tolist())) > 40
    assert abs(places.mean() - 24.5) < 2.5


def test_the_identity_of_a_plan_is_its_arguments():
    arguments = {"longest": 8, "lengths": np.array([2, 8, 3, 5]), "boundaries": (4,), "seed": 1}
    identity = BatchPlan(4, 2, **arguments).identity()
    assert identity == json.loads(json.dumps(BatchPlan(4, 2, **arguments).identity()))
    for change in ({"longest": 9}, {"boundaries": (3,)}, {"shuffle": True}, {"seed": 2}):
        assert BatchPlan(4, 2, **{**arguments, **change}).identity() != identity
    assert BatchPlan(4, 3, **arguments).identity() != identity


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"boundaries": (4, 4)}, r"bucket_boundaries must be positive and rise, got \[4, 4\]"),
        ({"boundaries": (4,)}, "bucket_boundaries must come with lengths"),
        ({"total": 0}, "batch_size must leave a batch of 0 rows, got 4"),
    ],
)
def test_refuses_impossible_plan(changes, message):
    with pytest.raises(ValueError, match=message):
        BatchPlan(**{"total": 3, "batch_size": 4, "longest": 8, **changes})


def test_mixed_batches_are_drawn_by_chance_and_as_wide_as_their_longest_row():
    lengths = np.random.default_rng(0).integers(1, 33, 100)
    settings = {"longest": 32, "lengths": lengths, "boundaries": (8, 16), "shuffle": True, "seed": 3}
    plan, plain = BatchPlan(100, 8, mixed=True, **settings), BatchPlan(100, 8, longest=32, shuffle=True, seed=3)
    for number in range(2 * plan.per_epoch):
        batch = plan.batch(number)
        assert batch.rows.tolist() == plain.batch(number).rows.tolist(), "the order does not depend on lengths"
        assert batch.width == next(width for width in (8, 16, 32) if width >= lengths[batch.rows].max())
    assert plan.per_epoch == 13
    assert plan.identity() != BatchPlan(100, 8, **settings).identity()
