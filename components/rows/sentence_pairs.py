"""Next sentence prediction: pairs of neighbouring or random segments; NumPy only.

A document is a sequence of segments (sentences), and a segment is a range of one flat array of tokens. Neighbouring
segments form one range, so that a pair is four numbers.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_DRAWS_AT_ONCE = 4096

Draw = Callable[[], float]
Pairs = NDArray[np.int64]
"""(pairs, 5): the ranges of tokens [start, end) of A and B, and the label, 1 for a pair that is not as in the text."""


class SegmentBounds(NamedTuple):
    """A document as the bounds of its segments: segment i is the range [bounds[i], bounds[i + 1])."""

    bounds: NDArray[np.int64]


def uniform_draws(rng: np.random.Generator) -> Draw:
    """A function that returns uniform numbers in [0, 1), drawn in blocks: single draws would dominate the time."""

    def draws() -> Iterator[float]:
        while True:
            yield from rng.random(_DRAWS_AT_ONCE).tolist()

    return draws().__next__


def make_pairs(
    documents: list[SegmentBounds],
    others: list[SegmentBounds],
    *,
    room: int,
    short_share: float,
    rng: np.random.Generator,
) -> Pairs:
    """Pairs of at most `room` tokens that cover every document (google-research/bert create_pretraining_data).

    Segments are collected until they fill a pair, but at least two. A is a random number of them. B is the rest or,
    half of the time, a run of segments of another document; then the rest is used for the next pair. Pairs that are
    too long are cut. A last segment that remains alone is A of a random B or, half of the time, B of the segment
    before it, which then occurs twice.

    Two rules differ from the released code:

    - The released code gives every lone segment a random B. With a share q of such pairs, (1 + q) / 2 of all B are
      random, and more so for short documents. Here every pair tosses a fair coin, so that half of all B are random;
      only documents of a single segment always get a random B.
    - The released code draws a shorter length once a document, which makes many short rows of some documents. Here it
      is drawn for every pair.

    Random B come from `others`, never from the document itself. A share of the pairs, `short_share`, has a random
    shorter target length (0.1 in the paper, appendix A.2).
    """
    draw = uniform_draws(rng)
    pairs: list[tuple[int, int, int, int, int]] = []
    # Keyed by identity, because documents are arrays. A list of the others for every document would be quadratic.
    places: dict[int, list[int]] = {}
    for place, candidate in enumerate(others):
        places.setdefault(id(candidate), []).append(place)
    # Plain lists, because reading single items of arrays is slow.
    bounds_of = [other.bounds.tolist() for other in others]
    for document in documents:
        same = places.get(id(document), [])
        eligible = len(others) - len(same)
        bounds = document.bounds.tolist()
        start = 0
        while start < len(bounds) - 1:
            target = target_length(room, short_share, draw)
            end = min(max(end_of_run(bounds, start, target), start + 2), len(bounds) - 1)
            middle = start + 1 + int(draw() * (end - start - 1))
            is_random = eligible > 0 and (len(bounds) == 2 or draw() < 0.5)
            if is_random:
                other = bounds_of[_skip(int(draw() * eligible), same)]
                begin = int(draw() * (len(other) - 1))
                until = end_of_run(other, begin, max(1, target - (bounds[middle] - bounds[start])))
                pairs.append((bounds[start], bounds[middle], other[begin], other[until], 1))
                end = middle
            elif end > middle:
                pairs.append((bounds[start], bounds[middle], bounds[middle], bounds[end], 0))
            elif start:
                pairs.append((bounds[start - 1], bounds[start], bounds[start], bounds[end], 0))
            start = end
    return _truncate(np.array(pairs, np.int64).reshape(-1, 5), room, rng)


def target_length(room: int, short_share: float, draw: Draw) -> int:
    """The target length of the next row in tokens: `room`, or with probability `short_share` a random shorter one."""
    return 2 + int(draw() * (room - 1)) if draw() < short_share else room


def end_of_run(bounds: list[int], start: int, target: int) -> int:
    """The end of the shortest run of segments from `start` with at least `target` tokens, or the document's end."""
    return min(bisect_left(bounds, bounds[start] + target, start + 1), len(bounds) - 1)


def keep_longest(pairs: Pairs, room: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of tokens of A and of B to keep, (pairs,) each, so that both fit into `room`: the longer one is cut."""
    first, second = pairs[:, 1] - pairs[:, 0], pairs[:, 3] - pairs[:, 2]
    kept = np.minimum(first, np.maximum(room - second, (room + 1) // 2))
    return kept, np.minimum(second, room - kept)


def _skip(number: int, places: list[int]) -> int:
    """The index in the full list of item `number` of the list without the items at `places`, which ascend."""
    for place in places:
        number += number >= place
    return number


def _truncate(pairs: Pairs, room: int, rng: np.random.Generator) -> Pairs:
    """Cuts pairs to `room` tokens: the longer text loses tokens, each from its front or its end by a coin toss."""
    cut = pairs.copy()
    for place, kept in zip((0, 2), keep_longest(pairs, room), strict=True):
        cut[:, place] += rng.binomial(pairs[:, place + 1] - pairs[:, place] - kept, 0.5)
        cut[:, place + 1] = cut[:, place] + kept
    return cut


def make_ordered_pairs(
    documents: list[SegmentBounds], *, room: int, short_share: float, rng: np.random.Generator
) -> Pairs:
    """Pairs of at most `room` tokens that cover every document: A and the text right after it, half of them swapped.

    Segments are collected as for next sentence prediction, but at least two; a last segment that remains alone is cut
    in two. Pairs that are too long are cut at their outer ends, so that A and B stay neighbours; ALBERT's released code
    cuts at all ends.

    A share of the pairs, `short_share`, has a random shorter target length.
    """
    draw = uniform_draws(rng)
    pairs = []
    for document in documents:
        bounds = document.bounds.tolist()
        start = 0
        while start < len(bounds) - 1:
            end = min(
                max(end_of_run(bounds, start, target_length(room, short_share, draw)), start + 2), len(bounds) - 1
            )
            if end - start > 1:
                middle = bounds[start + 1 + int(draw() * (end - start - 1))]
            else:
                middle = bounds[start] + 1 + int(draw() * (bounds[end] - bounds[start] - 1))
            if middle < bounds[end]:
                pairs.append((bounds[start], middle, middle, bounds[end], draw() < 0.5))
            start = end
    cut = np.array(pairs, np.int64).reshape(-1, 5)
    first, second = keep_longest(cut, room)
    cut[:, 0], cut[:, 3] = cut[:, 1] - first, cut[:, 2] + second
    swapped = cut[:, 4] == 1
    cut[swapped, :4] = cut[swapped][:, [2, 3, 0, 1]]
    return cut
