"""Packs full sentences across documents, with a separator between documents (Liu et al. 2019, section 4.2)."""

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from components.rows.sentence_pairs import SegmentBounds, target_length, uniform_draws

TokenRanges = NDArray[np.int64]
"""(rows, 2): ranges of tokens [start, end)."""


def join_documents(
    flat: NDArray[np.int32], documents: list[SegmentBounds], separator: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Concatenates the tokens of documents, with a separator after every document.

    Returns the tokens (tokens,); the ends of the segments in them, ascending; and the positions of the separators.
    """
    stream: list[NDArray[np.int32]] = []
    ends: list[NDArray[np.int64]] = []
    size = 0
    separators = []
    for document in documents:
        begin, last = document.bounds[0], document.bounds[-1]
        stream += [flat[begin:last], np.array([separator], np.int32)]
        ends.append(document.bounds[1:] - begin + size)
        size += int(last - begin) + 1
        separators.append(size - 1)
    joined = np.concatenate(stream) if stream else np.empty(0, np.int32)
    return joined, np.concatenate(ends) if ends else np.empty(0, np.int64), np.array(separators, np.int64)


def pack_rows(
    ends: NDArray[np.int64], separators: NDArray[np.int64], *, room: int, short_share: float, rng: np.random.Generator
) -> TokenRanges:
    """Packs as many whole segments as fit into `room` tokens, separators between documents included.

    Every token belongs to exactly one row. Only a separator at the end of a row is left out, because the row ends in a
    separator anyway. A segment longer than a row is cut.

    `ends` are those of the segments, ascending; each of `separators` is at the end of its document's last segment. A
    share of the rows, `short_share`, has a random shorter target length; RoBERTa uses 0.
    """
    draw = uniform_draws(rng)
    stops, skipped = ends.tolist(), set(separators.tolist())
    rows = []
    start = 0
    while stops and start < stops[-1]:
        limit = start + target_length(room, short_share, draw)
        whole = bisect_right(stops, limit)
        # No segment ends within the row: this segment is longer than a row and is cut.
        end = stops[whole - 1] if whole and stops[whole - 1] > start else limit
        rows.append((start, end))
        start = end + (end in skipped)
    return np.array(rows, np.int64).reshape(-1, 2)
