"""Pairs of rows by their labels: balanced, of no row with itself, and the same for the same seed."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from plugins.few_shot.label_pairs import draw_label_pairs

FLAGS = arrays.arrays(np.int8, arrays.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(0, 1))
CLASSES = st.lists(st.integers(0, 4), min_size=1, max_size=20).map(lambda labels: np.eye(5, dtype=int)[labels])


def relation(first, second):
    """Whether two rows have a label in common; None if neither has a label."""
    return bool((first & second).any()) if first.any() or second.any() else None


@given(FLAGS | CLASSES, st.integers(1, 5), st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_pairs_of_rows(flags: np.ndarray, pairs: int, seed: int) -> None:
    drawn = draw_label_pairs(flags, pairs=pairs, seed=seed)
    counts, partners = Counter(), Counter()
    for first, second, is_same in zip(*drawn, strict=True):
        assert first != second
        assert relation(flags[first], flags[second]) == is_same
        counts[first, is_same] += 1
        partners[first, is_same, second] += 1
    for row, labels in enumerate(flags):
        for is_same in (True, False):
            others = [place for place in range(len(flags)) if place != row]
            possible = sum(relation(labels, flags[place]) == is_same for place in others)
            # Balanced: as many of one kind as of the other, wherever there is a partner.
            assert counts[row, is_same] == (pairs if possible else 0)
            times = [partners[row, is_same, place] for place in others if partners[row, is_same, place]]
            # None comes again before all were drawn.
            assert len(times) == min(possible, pairs)
            assert not times or max(times) - min(times) <= 1
    for column, again in zip(drawn, draw_label_pairs(flags, pairs=pairs, seed=seed), strict=True):
        np.testing.assert_array_equal(column, again)


@given(CLASSES, CLASSES, st.integers(1, 3))
@settings(max_examples=50, deadline=None)
def test_pairs_with_other_rows(flags: np.ndarray, partners: np.ndarray, pairs: int) -> None:
    drawn = draw_label_pairs(flags, partners, pairs=pairs)
    for first, second, is_same in zip(*drawn, strict=True):
        assert relation(flags[first], partners[second]) == is_same
    # A row may be paired with its copy among the others.
    both = draw_label_pairs(flags, flags, pairs=pairs)
    assert set(both.first[both.is_same].tolist()) == set(range(len(flags)))


def test_seeds_draw_other_pairs_and_one_label_gives_pairs_of_one_kind():
    labels = np.eye(2, dtype=int)[[0, 1] * 10]
    first, second = (draw_label_pairs(labels, pairs=3, seed=seed).second for seed in (0, 1))
    assert (first != second).any()
    assert draw_label_pairs(np.ones((3, 1), int), pairs=2).is_same.all()
    assert not draw_label_pairs(np.eye(3, dtype=int), pairs=2).is_same.any()
    assert len(draw_label_pairs(np.ones((1, 1), int), pairs=2).first) == 0
