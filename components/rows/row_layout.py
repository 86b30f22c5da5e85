"""Ranges of tokens -> rows of a model's input, many at once: `[CLS] A [SEP] B [SEP]` or `[CLS] A [SEP]`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Marks(NamedTuple):
    """The ids of the tokens that a row has besides text, and how many of `sep_id` stand between two texts."""

    cls_id: int
    sep_id: int
    pad_id: int
    between: int = 1


class Rows(NamedTuple):
    """Rows before masking.

    Attributes:
        token_ids: (rows, width) int32, filled up with `[PAD]`.
        segment_ids: (rows, width) int32: 0 up to the first `[SEP]`, then 1.
        lengths: (rows,), tokens of each row, special tokens included.
        labels: (rows,), of each pair; None where rows are no pairs.
    """

    token_ids: NDArray[np.int32]
    segment_ids: NDArray[np.int32]
    lengths: NDArray[np.int64]
    labels: NDArray[np.int64] | None


def lay_out_pairs(flat: NDArray[np.int32], ranges: NDArray[np.int64], width: int, marks: Marks) -> Rows:
    """Rows of pairs.

    Args:
        flat: all tokens.
        ranges: (rows, 5), see `sentence_pairs.Pairs`.
        width: the most tokens a row.
        marks: the special tokens.
    """
    first, second = ranges[:, 1] - ranges[:, 0], ranges[:, 3] - ranges[:, 2]
    places, begins = np.arange(width), first + 1 + marks.between
    in_second = places >= begins[:, None]
    sources = np.where(in_second, (ranges[:, 2] - begins)[:, None], (ranges[:, 0] - 1)[:, None]) + places
    rows = _fill(flat, sources, begins + second + 1, marks)
    for place in range(1, marks.between + 1):
        rows.token_ids[np.arange(len(ranges)), first + place] = marks.sep_id
    return rows._replace(segment_ids=in_second.astype(np.int32), labels=ranges[:, 4])


def lay_out_stretches(flat: NDArray[np.int32], ranges: NDArray[np.int64], width: int, marks: Marks) -> Rows:
    """Rows of one stretch each, all of it segment 0.

    Args:
        flat: all tokens.
        ranges: (rows, 2), see `packing.Stretches`.
        width: the most tokens a row.
        marks: the special tokens.
    """
    sources = (ranges[:, 0] - 1)[:, None] + np.arange(width)
    return _fill(flat, sources, ranges[:, 1] - ranges[:, 0] + 2, marks)


def _fill(flat: NDArray[np.int32], sources: NDArray[np.int64], lengths: NDArray[np.int64], marks: Marks) -> Rows:
    """Tokens from where `sources` point, with `[CLS]` before, `[SEP]` at the end and `[PAD]` behind."""
    # Places of special tokens point anywhere.
    token_ids = flat.take(sources, mode="clip")
    token_ids[np.arange(sources.shape[1]) >= lengths[:, None]] = marks.pad_id
    token_ids[:, 0] = marks.cls_id
    token_ids[np.arange(len(lengths)), lengths - 1] = marks.sep_id
    return Rows(token_ids, np.zeros_like(token_ids), lengths, None)
