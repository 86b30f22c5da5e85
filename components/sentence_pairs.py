"""Pairs of neighbouring or random stretches of text for next sentence prediction; numpy only.

A document is a row of segments (sentences), a segment a range of one flat array of tokens, so that neighbouring
segments are one range too and a pair is four numbers.
"""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# A segment only has to be a plausible stretch of text, and the tokens are made from whole segments anyway, so a
# pattern will do where tensorflow-text's StateBasedSentenceBreaker would need its own pass over the text.
_BOUNDARY = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')\]]))\s+(?![a-z])|(?<=[\u3002\uff01\uff1f])|\n+")


class Pair(NamedTuple):
    """Ranges of tokens [start, end) of A and B, and whether B is random (1) or what follows A (0)."""

    first_start: int
    first_end: int
    second_start: int
    second_end: int
    is_random: int


class Document(NamedTuple):
    """The bounds of a document's segments: segment i is the range [bounds[i], bounds[i + 1])."""

    bounds: NDArray[np.int64]

    @property
    def segments(self) -> int:
        """How many segments it has."""
        return len(self.bounds) - 1


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, one a line or ended by a full stop and the like."""
    return [part for part in (part.strip() for part in _BOUNDARY.split(text)) if part]


def make_pairs(
    documents: list[Document],
    others: list[Document],
    *,
    room: int,
    short_share: float,
    rng: np.random.Generator,
) -> list[Pair]:
    """Pairs of at most `room` tokens that cover every document (google-research/bert create_pretraining_data).

    Segments are gathered until they fill a pair; A is a random number of them, B the rest or, half of the
    time, a stretch of another document, in which case the rest is put back. What is too long is cut.

    Args:
        documents: what to cover.
        others: where random B come from, never from the document itself; may be the same list.
        room: the most tokens of A and B together.
        short_share: share of the pairs with a random shorter length (0.1 in the paper, appendix A.2).
        rng: makes every choice.
    """
    pairs: list[Pair] = []
    # By identity, as in `is`: documents are arrays. A list of the others for each document would be quadratic.
    places: dict[int, list[int]] = {}
    for place, other in enumerate(others):
        places.setdefault(id(other), []).append(place)
    for document in documents:
        own = places.get(id(document), [])
        eligible = len(others) - len(own)
        start = 0
        while start < document.segments:
            target = int(rng.integers(2, room + 1)) if rng.random() < short_share else room
            end = _fill(document, start, target)
            middle = start + (int(rng.integers(1, end - start)) if end - start > 1 else 1)
            is_random = eligible > 0 and (end - start == 1 or rng.random() < 0.5)
            first = (int(document.bounds[start]), int(document.bounds[middle]))
            if is_random:
                other = others[_skip(int(rng.integers(eligible)), own)]
                from_segment = int(rng.integers(other.segments))
                until = _fill(other, from_segment, max(1, target - (first[1] - first[0])))
                second = (int(other.bounds[from_segment]), int(other.bounds[until]))
                end = middle
            else:
                second = (int(document.bounds[middle]), int(document.bounds[end]))
            if second[1] > second[0]:
                pairs.append(Pair(*_truncate(first, room, second, rng), int(is_random)))
            start = end
    return pairs


def _skip(number: int, places: list[int]) -> int:
    """The place of item `number` of a list without the items at `places`, which ascend."""
    for place in places:
        number += number >= place
    return number


def _fill(document: Document, start: int, target: int) -> int:
    """The end of the shortest run of segments from `start` that has `target` tokens, or of the document."""
    end = int(np.searchsorted(document.bounds, document.bounds[start] + target))
    return min(max(end, start + 1), document.segments)


def _truncate(
    first: tuple[int, int], room: int, second: tuple[int, int], rng: np.random.Generator
) -> tuple[int, int, int, int]:
    """Cuts a pair to `room` tokens: the longer one gives, each token from the front or the back by a coin."""
    sizes = first[1] - first[0], second[1] - second[0]
    keep_first = min(sizes[0], max(room - sizes[1], (room + 1) // 2))
    keep_second = min(sizes[1], room - keep_first)
    ranges = []
    for (start, end), keep in ((first, keep_first), (second, keep_second)):
        surplus = end - start - keep
        front = int(rng.binomial(surplus, 0.5)) if surplus else 0
        ranges += [start + front, start + front + keep]
    return ranges[0], ranges[1], ranges[2], ranges[3]
