"""Lays out ranges of tokens as model inputs: `[CLS] A [SEP] B [SEP]` or `[CLS] A [SEP]`, many rows at once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SpecialTokens(NamedTuple):
    """The ids of the special tokens of a row, and what a tokenizer says of pairs, see `BaseTokenizer`."""

    cls_id: int
    sep_id: int
    pad_id: int
    between: int = 1
    second_segment: int = 1


class TokenRows(NamedTuple):
    """Rows before masking.

    Attributes:
        token_ids: (rows, width) int32, padded with `[PAD]`.
        segment_ids: (rows, width) int32: 0, and the second text's segment from its first token on.
        labels: (rows,) labels of the pairs; None for rows of a single text.
    """

    token_ids: NDArray[np.int32]
    segment_ids: NDArray[np.int32]
    lengths: NDArray[np.int64]
    labels: NDArray[np.int64] | None


def lay_out_pairs(flat: NDArray[np.int32], ranges: NDArray[np.int64], width: int, special: SpecialTokens) -> TokenRows:
    """Lays out rows of two texts.

    `flat` has all tokens of the shard (tokens,); `ranges` is (rows, 5), see `sentence_pairs.Pairs`.
    """
    first, second = ranges[:, 1] - ranges[:, 0], ranges[:, 3] - ranges[:, 2]
    places, begins = np.arange(width), first + 1 + special.between
    in_second = places >= begins[:, None]
    sources = np.where(in_second, (ranges[:, 2] - begins)[:, None], (ranges[:, 0] - 1)[:, None]) + places
    rows = _fill(flat, sources, begins + second + 1, special)
    for place in range(1, special.between + 1):
        rows.token_ids[np.arange(len(ranges)), first + place] = special.sep_id
    return rows._replace(segment_ids=in_second * np.int32(special.second_segment), labels=ranges[:, 4])


def lay_out_texts(flat: NDArray[np.int32], ranges: NDArray[np.int64], width: int, special: SpecialTokens) -> TokenRows:
    """Lays out rows of one text, which is segment 0.

    `flat` has all tokens of the shard (tokens,); `ranges` is (rows, 2), see `packing.TokenRanges`.
    """
    sources = (ranges[:, 0] - 1)[:, None] + np.arange(width)
    return _fill(flat, sources, ranges[:, 1] - ranges[:, 0] + 2, special)


def _fill(
    flat: NDArray[np.int32], sources: NDArray[np.int64], lengths: NDArray[np.int64], special: SpecialTokens
) -> TokenRows:
    """Copies the tokens at `sources` and writes `[CLS]` before, `[SEP]` after and `[PAD]` up to the width."""
    # Indices at the places of special tokens are arbitrary; their tokens are overwritten.
    token_ids = flat.take(sources, mode="clip")
    token_ids[np.arange(sources.shape[1]) >= lengths[:, None]] = special.pad_id
    token_ids[:, 0] = special.cls_id
    token_ids[np.arange(len(lengths)), lengths - 1] = special.sep_id
    return TokenRows(token_ids, np.zeros_like(token_ids), lengths, None)
