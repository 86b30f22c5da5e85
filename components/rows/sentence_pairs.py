"""Pairs of neighbouring or random stretches of text for next sentence prediction; numpy only.

A document is a row of segments (sentences), a segment a range of one flat array of tokens, so that neighbouring
segments are one range too and a pair is four numbers.
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


class Document(NamedTuple):
    """The bounds of a document's segments: segment i is the range [bounds[i], bounds[i + 1])."""

    bounds: NDArray[np.int64]

    @property
    def segments(self) -> int:
        """How many segments it has."""
        return len(self.bounds) - 1


def uniform(rng: np.random.Generator) -> Draw:
    """A function whose answers are even over [0, 1): drawing one by one would take most of the time of pairing."""

    def draws() -> Iterator[float]:
        while True:
            yield from rng.random(_DRAWS_AT_ONCE).tolist()

    return draws().__next__


def make_pairs(
    documents: list[Document],
    others: list[Document],
    *,
    room: int,
    short_share: float,
    rng: np.random.Generator,
) -> Pairs:
    """Pairs of at most `room` tokens that cover every document (google-research/bert create_pretraining_data).

    Segments are gathered until they fill a pair, but at least two; A is a random number of them, B the rest or, half of
    the time, a stretch of another document, in which case the rest is put back. What is too long is cut. The last
    segment of a document, if it is left alone, is A of a random B or, half of the time, B of the segment before it,
    which then comes twice.

    Two things differ from the released code. It gives every segment that is alone a random B: with a share q of such
    pairs (1 + q) / 2 of all B are random, the more the shorter documents are. Here every pair has a fair coin of its
    own, whatever its shape: one half of all B are random, but for documents of a single segment, which have nothing
    else. And it draws a shorter length once for each document, which makes many short rows of some documents; this
    draws it for each pair.

    Args:
        documents: what to cover.
        others: where random B come from, never from the document itself; may be the same list.
        room: the most tokens of A and B together.
        short_share: share of the pairs with a random shorter length (0.1 in the paper, appendix A.2).
        rng: makes every choice.
    """
    draw = uniform(rng)
    pairs: list[tuple[int, int, int, int, int]] = []
    # By identity, as in `is`: documents are arrays. A list of the others for each document would be quadratic.
    places: dict[int, list[int]] = {}
    for place, candidate in enumerate(others):
        places.setdefault(id(candidate), []).append(place)
    # Plain lists: the loop below looks up single bounds, and single items of arrays are slow.
    bounds_of = [other.bounds.tolist() for other in others]
    for document in documents:
        own = places.get(id(document), [])
        eligible = len(others) - len(own)
        bounds = document.bounds.tolist()
        start = 0
        while start < len(bounds) - 1:
            target = aim(room, short_share, draw)
            end = min(max(fill(bounds, start, target), start + 2), len(bounds) - 1)
            middle = start + 1 + int(draw() * (end - start - 1))
            is_random = eligible > 0 and (len(bounds) == 2 or draw() < 0.5)
            if is_random:
                other = bounds_of[_skip(int(draw() * eligible), own)]
                begin = int(draw() * (len(other) - 1))
                until = fill(other, begin, max(1, target - (bounds[middle] - bounds[start])))
                pairs.append((bounds[start], bounds[middle], other[begin], other[until], 1))
                end = middle
            elif end > middle:
                pairs.append((bounds[start], bounds[middle], bounds[middle], bounds[end], 0))
            elif start:
                pairs.append((bounds[start - 1], bounds[start], bounds[start], bounds[end], 0))
            start = end
    return _truncate(np.array(pairs, np.int64).reshape(-1, 5), room, rng)


def aim(room: int, short_share: float, draw: Draw) -> int:
    """How many tokens the next row is to have: all that there is room for, or 2 or more at random."""
    return 2 + int(draw() * (room - 1)) if draw() < short_share else room


def fill(bounds: list[int], start: int, target: int) -> int:
    """The end of the shortest run of segments from `start` that has `target` tokens, or of the document."""
    return min(bisect_left(bounds, bounds[start] + target, start + 1), len(bounds) - 1)


def keep_longest(pairs: Pairs, room: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many tokens of A and of B to keep, (pairs,) each, so that they have room: the longer one gives."""
    first, second = pairs[:, 1] - pairs[:, 0], pairs[:, 3] - pairs[:, 2]
    kept = np.minimum(first, np.maximum(room - second, (room + 1) // 2))
    return kept, np.minimum(second, room - kept)


def _skip(number: int, places: list[int]) -> int:
    """The place of item `number` of a list without the items at `places`, which ascend."""
    for place in places:
        number += number >= place
    return number


def _truncate(pairs: Pairs, room: int, rng: np.random.Generator) -> Pairs:
    """Cuts pairs to `room` tokens: the longer side gives, each token from the front or the back by a coin."""
    cut = pairs.copy()
    for place, kept in zip((0, 2), keep_longest(pairs, room), strict=True):
        cut[:, place] += rng.binomial(pairs[:, place + 1] - pairs[:, place] - kept, 0.5)
        cut[:, place + 1] = cut[:, place] + kept
    return cut
