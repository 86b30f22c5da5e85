"""Full sentences packed across documents, with a separator between documents (Liu et al. 2019, section 4.2)."""

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from components.rows.sentence_pairs import Document, aim, uniform

Stretches = NDArray[np.int64]
"""(rows, 2): ranges of tokens [start, end)."""


def join_documents(
    flat: NDArray[np.int32], documents: list[Document], separator: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """The tokens of documents in a row, each followed by a separator.

    Returns:
        The tokens; where segments end in them, ascending; and where the separators stand.
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
) -> Stretches:
    """Rows of as many whole segments as `room` tokens hold, separators between documents included.

    Every token but separators at the end of a row, where the row's own one stands, comes to exactly one row. A segment
    longer than a row is cut.

    Args:
        ends: where segments end, ascending.
        separators: where separators stand, each at the end of its document's last segment.
        room: the most tokens of a row.
        short_share: share of the rows that aim at a random shorter length; RoBERTa has none of them.
        rng: makes every choice.
    """
    draw = uniform(rng)
    stops, skipped = ends.tolist(), set(separators.tolist())
    rows = []
    start = 0
    while stops and start < stops[-1]:
        limit = start + aim(room, short_share, draw)
        whole = bisect_right(stops, limit)
        # No segment ends within the row: it is longer, and gives as much as there is room for.
        end = stops[whole - 1] if whole and stops[whole - 1] > start else limit
        rows.append((start, end))
        start = end + (end in skipped)
    return np.array(rows, np.int64).reshape(-1, 2)
