from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.rows.sentence_pairs import SegmentBounds, _truncate, make_ordered_pairs, make_pairs, uniform_draws


class Pair(NamedTuple):
    first_start: int
    first_end: int
    second_start: int
    second_end: int
    is_random: int


def documents_of(sizes):
    """Documents that stand one after the other, from the sizes of their segments."""
    documents, start = [], 0
    for part in sizes:
        documents.append(SegmentBounds(np.cumsum([start, *part])))
        start = int(documents[-1].bounds[-1])
    return documents


def document_of(bounds, position):
    return next(n for n, (start, end) in enumerate(bounds) if start <= position < end)


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=8), min_size=1, max_size=5),
    st.integers(5, 30),
    st.integers(0, 1000),
)
def test_pairs_fit_the_room_and_tell_random_from_next(sizes, room, seed):
    documents = documents_of(sizes)
    whole = [(int(d.bounds[0]), int(d.bounds[-1])) for d in documents]
    options = {"room": room, "short_share": 0.1}
    made_pairs = make_pairs(documents, documents, **options, rng=np.random.default_rng(seed))
    again = make_pairs(documents, documents, **options, rng=np.random.default_rng(seed))
    np.testing.assert_array_equal(made_pairs, again)
    pairs = [Pair(*pair) for pair in made_pairs.tolist()]
    for pair in pairs:
        first, second = pair.first_end - pair.first_start, pair.second_end - pair.second_start
        assert first >= 1
        assert second >= 1
        assert first + second <= room
        same = document_of(whole, pair.first_start) == document_of(whole, pair.second_start)
        assert same == (not pair.is_random)
        if not pair.is_random:
            assert pair.second_start >= pair.first_end
    if len(documents) > 1:
        assert {document_of(whole, pair.first_start) for pair in pairs} == set(range(len(documents)))
    else:
        assert not any(pair.is_random for pair in pairs)


def naive_pairs(documents, others, *, room, short_share, rng):
    """`make_pairs` with the list of the other documents made again for each, up to where pairs are cut."""
    draw = uniform_draws(rng)
    pairs = []
    for document in documents:
        eligible = [other for other in others if other is not document]
        start = 0
        while start < len(document.bounds) - 1:
            target = 2 + int(draw() * (room - 1)) if draw() < short_share else room
            end = min(max(naive_fill(document, start, target), start + 2), len(document.bounds) - 1)
            middle = start + 1 + int(draw() * (end - start - 1))
            is_random = bool(eligible) and (len(document.bounds) == 2 or draw() < 0.5)
            first = (document.bounds[start], document.bounds[middle])
            if is_random:
                other = eligible[int(draw() * len(eligible))]
                begin = int(draw() * (len(other.bounds) - 1))
                until = naive_fill(other, begin, max(1, target - (first[1] - first[0])))
                second = (other.bounds[begin], other.bounds[until])
                end = middle
            else:
                second = (document.bounds[middle], document.bounds[end])
                if middle == end and start:
                    first, second = (document.bounds[start - 1], document.bounds[start]), first
            if second[1] > second[0]:
                pairs.append((*first, *second, int(is_random)))
            start = end
    return _truncate(np.array(pairs, np.int64).reshape(-1, 5), room, rng)


def naive_fill(document, start, target):
    end = start + 1
    while end < len(document.bounds) - 1 and document.bounds[end] - document.bounds[start] < target:
        end += 1
    return end


@pytest.mark.parametrize("count", [1, 2, 3, 40])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_those_of_the_naive_form(count, seed):
    sizes = np.random.default_rng(seed).integers(1, 9, (count, 12))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    documents = [SegmentBounds(bounds[start : start + 13]) for start in range(0, 12 * count, 12)]
    middle = count // 2
    # The same list, other lists, and a list that holds some of the documents, one of them twice.
    for others in (documents, documents[:middle], [*documents[middle:], *documents[:1], *documents[:1]]):
        made, naive = (
            make(documents, others, room=20, short_share=0.1, rng=np.random.default_rng(seed))
            for make in (make_pairs, naive_pairs)
        )
        np.testing.assert_array_equal(made, naive)


def test_half_of_the_next_sentences_are_random_however_short_documents_are():
    rng = np.random.default_rng(0)
    for segments in (2, 3, 5, 40):
        documents = documents_of(rng.integers(5, 60, (8000 // segments, segments)))
        pairs = make_pairs(documents, documents, room=60, short_share=0.1, rng=rng)
        # Four standard deviations of as many fair coins.
        assert abs(pairs[:, 4].mean() - 0.5) < 2 / np.sqrt(len(pairs))


def test_a_last_segment_that_is_left_alone_follows_the_one_before_it_or_gets_a_random_next_one():
    documents = documents_of([[4, 5], [3, 3, 3]])
    firsts = set()
    for seed in range(100):
        pairs = make_pairs(documents[:1], documents, room=20, short_share=0.0, rng=np.random.default_rng(seed))
        firsts.add(tuple((*pair[:2], None if pair[4] else tuple(pair[2:4])) for pair in pairs.tolist()))
    first, both, last = (0, 4, None), (0, 4, (4, 9)), (4, 9, None)
    assert firsts == {(both,), (first, both), (first, last)}


def test_a_document_of_one_segment_has_a_random_next_one_if_there_is_another_document():
    documents = documents_of([[5], [7]])
    pairs = make_pairs(documents, documents, room=20, short_share=0.0, rng=np.random.default_rng(0))
    assert pairs.tolist() == [[0, 5, 5, 12, 1], [5, 12, 0, 5, 1]]
    assert not len(make_pairs(documents[:1], documents[:1], room=20, short_share=0.0, rng=np.random.default_rng(0)))


def test_unused_segments_are_put_back():
    documents = [SegmentBounds(np.arange(0, 41)), SegmentBounds(np.arange(40, 81))]
    pairs = make_pairs(documents, documents, room=10, short_share=0.0, rng=np.random.default_rng(1))
    covered = set()
    for pair in (Pair(*pair) for pair in pairs.tolist()):
        covered.update(range(pair.first_start, pair.first_end))
        if not pair.is_random:
            covered.update(range(pair.second_start, pair.second_end))
    assert covered == set(range(80))


def test_pairs_are_cut_to_the_room_by_hand():
    pairs = np.array([[0, 10, 10, 13, 0], [0, 3, 20, 40, 1], [0, 9, 9, 18, 0], [0, 4, 4, 8, 0]])
    cut = _truncate(pairs, 8, np.random.default_rng(0))
    assert (cut[:, 1] - cut[:, 0]).tolist() == [5, 3, 4, 4]
    assert (cut[:, 3] - cut[:, 2]).tolist() == [3, 5, 4, 4]
    assert (cut[:, [0, 2]] >= pairs[:, [0, 2]]).all()
    assert (cut[:, [1, 3]] <= pairs[:, [1, 3]]).all()
    many = np.tile([[0, 24, 30, 34, 0]], (4000, 1))
    front = _truncate(many, 8, np.random.default_rng(0))[:, 0]
    # 20 tokens too many, each from the front by a coin.
    assert front.mean() == pytest.approx(10, abs=0.15)
    assert front.std() == pytest.approx(np.sqrt(5), abs=0.1)


@given(
    st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=8), min_size=1, max_size=5),
    st.integers(5, 30),
    st.floats(0, 1),
    st.integers(0, 1000),
)
def test_ordered_pairs_are_neighbours(sizes, room, short_share, seed):
    documents = documents_of(sizes)
    pairs = make_ordered_pairs(documents, room=room, short_share=short_share, rng=np.random.default_rng(seed))
    within = {place: number for number, d in enumerate(documents) for place in range(d.bounds[0], d.bounds[-1])}
    last = 0
    for first_start, first_end, second_start, second_end, swapped in pairs.tolist():
        if swapped:
            first_start, first_end, second_start, second_end = second_start, second_end, first_start, first_end
        assert first_end == second_start, "the second stretch follows the first one"
        assert first_start < first_end
        assert second_start < second_end
        assert second_end - first_start <= room
        assert within[first_start] == within[second_end - 1]
        assert first_start >= last, "no text comes twice"
        last = second_end
    longer = {number for number, part in enumerate(sizes) if sum(part) > 1}
    assert {within[min(pair[0], pair[2])] for pair in pairs.tolist()} == longer


def test_half_of_the_ordered_pairs_are_swapped():
    documents = documents_of(np.random.default_rng(0).integers(5, 40, (200, 50)))
    pairs = make_ordered_pairs(documents, room=125, short_share=0.1, rng=np.random.default_rng(0))
    assert len(pairs) > 1500
    assert pairs[:, 4].mean() == pytest.approx(0.5, abs=0.03)
    sizes = pairs[:, 1] - pairs[:, 0] + pairs[:, 3] - pairs[:, 2]
    assert np.mean(sizes == 125) > 0.7
