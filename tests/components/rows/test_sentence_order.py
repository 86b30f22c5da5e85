"""Pairs with choices that are given, so that each can be worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.rows.sentence_pairs import SegmentBounds, make_ordered_pairs

IN_ORDER, SWAPPED = 0.5, 0.49
FIRST, LAST = 0.0, 0.999


class Choices:
    """A generator that draws given numbers, over and over."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def random(self, count):
        return np.resize(self.numbers, count)


def pairs_of(*bounds, room, choices, short_share=0.0):
    """The pairs of documents; choices come as whether a pair is short, where it is parted, and its order."""
    documents = [SegmentBounds(np.array(part, np.int64)) for part in bounds]
    rng = Choices(*choices)
    pairs = make_ordered_pairs(documents, room=room, short_share=short_share, rng=rng)
    assert [document.bounds.tolist() for document in documents] == list(bounds), "documents stay as they were"
    return pairs.tolist()


@pytest.mark.parametrize(
    ("choices", "pair"),
    [
        ([0.0, FIRST, IN_ORDER], [10, 12, 12, 19, 0]),
        ([0.0, FIRST, SWAPPED], [12, 19, 10, 12, 1]),
        ([0.0, LAST, IN_ORDER], [10, 15, 15, 19, 0]),
        ([0.0, LAST, SWAPPED], [15, 19, 10, 15, 1]),
        # Two places to part three segments, each for half of the choices.
        ([0.0, 0.49, IN_ORDER], [10, 12, 12, 19, 0]),
        ([0.0, 0.5, IN_ORDER], [10, 15, 15, 19, 0]),
    ],
)
def test_three_segments_are_parted_where_one_ends(choices, pair):
    assert pairs_of([10, 12, 15, 19], room=20, choices=choices) == [pair]


def test_long_pair_is_cut_at_its_outer_ends():
    assert pairs_of([0, 3, 8], room=4, choices=[0.0, FIRST, IN_ORDER]) == [[1, 3, 3, 5, 0]]
    assert pairs_of([0, 3, 8], room=4, choices=[0.0, FIRST, SWAPPED]) == [[3, 5, 1, 3, 1]]
    # The longer one gives first, and the second one gives the odd token.
    assert pairs_of([0, 1, 8], room=4, choices=[0.0, FIRST, IN_ORDER]) == [[0, 1, 1, 4, 0]]
    assert pairs_of([0, 7, 8], room=4, choices=[0.0, FIRST, IN_ORDER]) == [[4, 7, 7, 8, 0]]
    assert pairs_of([0, 5, 9], room=5, choices=[0.0, FIRST, IN_ORDER]) == [[2, 5, 5, 7, 0]]


def test_the_last_segment_of_a_document_is_cut_in_two_if_it_is_left_alone():
    bounds = [0, 2, 4, 8]
    assert pairs_of(bounds, room=4, choices=[0.0, FIRST, IN_ORDER]) == [[0, 2, 2, 4, 0], [4, 5, 5, 8, 0]]
    assert pairs_of(bounds, room=4, choices=[0.0, LAST, IN_ORDER]) == [[0, 2, 2, 4, 0], [4, 7, 7, 8, 0]]
    assert pairs_of([0, 2], room=4, choices=[0.0, LAST, SWAPPED]) == [[1, 2, 0, 1, 1]]


def test_a_single_token_is_no_pair_and_what_follows_it_is():
    assert pairs_of([0, 1], [1], room=9, choices=[IN_ORDER]) == []
    assert pairs_of([0, 1], [1], [5, 6, 7], room=9, choices=[IN_ORDER]) == [[5, 6, 6, 7, 0]]
    # Also behind a pair: the room is full, and one token of the document is left.
    assert pairs_of([0, 2, 4, 5], [7, 9], room=4, choices=[IN_ORDER]) == [[0, 2, 2, 4, 0], [7, 8, 8, 9, 0]]


def test_a_short_pair_has_as_many_tokens_as_it_draws():
    bounds = [0, 1, 2, 3, 4, 5, 6]
    # The second choice is the length, from 2 to the room.
    shortest = pairs_of(bounds, room=6, short_share=1.0, choices=[0.0, FIRST, FIRST, IN_ORDER])
    assert shortest == [[0, 1, 1, 2, 0], [2, 3, 3, 4, 0], [4, 5, 5, 6, 0]]
    longest = pairs_of(bounds, room=6, short_share=1.0, choices=[0.0, LAST, FIRST, IN_ORDER])
    assert longest == [[0, 1, 1, 6, 0]]
    middle = pairs_of(bounds, room=6, short_share=1.0, choices=[0.0, 0.5, FIRST, IN_ORDER])
    assert middle == [[0, 1, 1, 4, 0], [4, 5, 5, 6, 0]]


def test_no_documents_are_no_pairs():
    pairs = make_ordered_pairs([], room=9, short_share=0.1, rng=np.random.default_rng(0))
    assert (pairs.shape, pairs.dtype) == ((0, 5), np.int64)


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=6), max_size=5),
    st.integers(0, 1000),
)
def test_with_room_for_a_whole_document_each_is_one_pair_without_a_loss(sizes, seed):
    documents, start = [], 3
    for part in sizes:
        documents.append(SegmentBounds(np.cumsum([start, *part])))
        start = int(documents[-1].bounds[-1]) + 2
    pairs = make_ordered_pairs(documents, room=54, short_share=0.0, rng=np.random.default_rng(seed)).tolist()
    joined = []
    for first_start, first_end, second_start, second_end, swapped in pairs:
        begin, middle, again, end = (
            (second_start, second_end, first_start, first_end)
            if swapped
            else (first_start, first_end, second_start, second_end)
        )
        assert middle == again
        joined.append((begin, end))
        bounds = next(document.bounds.tolist() for document in documents if document.bounds[0] == begin)
        assert middle in bounds or len(bounds) == 2, "only a segment that is alone is cut"
    assert joined == [(d.bounds[0], d.bounds[-1]) for d in documents if d.bounds[-1] - d.bounds[0] > 1]
