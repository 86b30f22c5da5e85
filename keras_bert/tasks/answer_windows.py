"""Long contexts in windows: cutting them, and finding a known answer in them.

The scheme is that of `run_squad.py` in google-research/bert: a window is `[CLS] question [SEP] part of the context
[SEP]`, the next part starts `stride` pieces later, and a piece that stands in several windows may start an answer only
in the one that shows most of what is around it.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_bert.tasks.base import Array, Features

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer


@dataclasses.dataclass(frozen=True)
class Pieces:
    """The word pieces of some texts, one text after the other.

    Attributes:
        ids: (pieces,) int32.
        starts: (pieces,) the character of its text where a piece starts.
        ends: (pieces,) the character after its last.
        splits: (texts + 1,) where each text's pieces start, and after the last, where they end.
    """

    ids: Array
    starts: Array
    ends: Array
    splits: Array

    @classmethod
    def of(cls, tokenizer: "BaseTokenizer", texts: Sequence[str]) -> "Pieces":
        """The pieces of the texts, without special tokens."""
        rows = tokenizer.tokenize_with_offsets(list(texts))
        ids, starts, ends = (np.asarray(part.flat_values) for part in rows)
        return cls(ids, starts, ends, np.asarray(rows[0].row_splits))

    @property
    def lengths(self) -> Array:
        """(texts,) pieces of each text."""
        return np.diff(self.splits)


@dataclasses.dataclass(frozen=True)
class Windows:
    """Where each window stands; a row has one or more, one after the other.

    Attributes:
        numbers: (windows,) its place among all windows.
        rows: (windows,) the row of the question and of the context.
        question_lengths: (windows,) pieces of the question that it holds.
        columns: (windows,) the token where its part of the context begins.
        firsts: (windows,) its first piece of the context, counted in the whole of `contexts.ids`.
        lengths: (windows,) pieces of the context that it holds; 0 if the context has none.
    """

    numbers: Array
    rows: Array
    question_lengths: Array
    columns: Array
    firsts: Array
    lengths: Array

    def part(self, chosen: slice) -> "Windows":
        """Some of the windows."""
        fields = (getattr(self, field.name)[chosen] for field in dataclasses.fields(self))
        return Windows(*fields)


def cut_windows(
    questions: Pieces, contexts: Pieces, *, max_length: int, stride: int, max_query_length: int, special: int
) -> Windows:
    """The windows of each row; the last one ends where its context does.

    Args:
        questions: (rows,) texts; what is longer than `max_query_length` loses pieces from its end.
        contexts: (rows,) texts.
        max_length: tokens of a window, special ones included.
        stride: pieces of the context from one window to the next.
        max_query_length: pieces of a question.
        special: special tokens of a window.
    """
    question_lengths = np.minimum(questions.lengths, max_query_length)
    room = max_length - question_lengths - special
    counts = 1 + np.maximum(-(-(contexts.lengths - room) // stride), 0)
    rows = np.repeat(np.arange(len(counts)), counts)
    skipped = _ranges(np.zeros_like(counts), counts) * stride
    lengths = np.minimum(room[rows], contexts.lengths[rows] - skipped)
    columns = question_lengths[rows] + special - 1
    firsts = contexts.splits[rows] + skipped
    return Windows(np.arange(len(rows)), rows, question_lengths[rows], columns, firsts, lengths)


def window_features(questions: Pieces, contexts: Pieces, windows: Windows, tokenizer: "BaseTokenizer") -> Features:
    """The model's inputs (windows, longest window), int32."""
    sizes = windows.columns + windows.lengths + 1
    columns = np.arange(sizes.max())
    token_ids = np.full((len(sizes), len(columns)), tokenizer.pad_id, "int32")
    every = np.arange(len(sizes))
    token_ids[:, 0] = tokenizer.cls_id
    for place in (sizes - 1, *(windows.question_lengths + 1 + number for number in range(tokenizer.between))):
        token_ids[every, place] = tokenizer.sep_id
    for pieces, firsts, lengths, column in (
        (questions, questions.splits[windows.rows], windows.question_lengths, np.ones_like(sizes)),
        (contexts, windows.firsts, windows.lengths, windows.columns),
    ):
        token_ids[np.repeat(every, lengths), _ranges(column, lengths)] = pieces.ids[_ranges(firsts, lengths)]
    inside = columns < sizes[:, None]
    second = inside & (columns >= windows.columns[:, None])
    return {"token_ids": token_ids, "segment_ids": second.astype("int32"), "padding_mask": inside.astype("int32")}


def find_pieces(contexts: Pieces, bounds: Sequence[tuple[int, int] | None]) -> Array:
    """The first and the last piece of each span of characters; a piece that it cuts belongs to it whole.

    Args:
        contexts: (rows,) texts.
        bounds: (rows,) a span's first character and the one after its last, or None.

    Returns:
        (rows, 2), counted in the whole of `contexts.ids`; -1 for None.

    Raises:
        ValueError: a span holds no piece, only what the tokenizer leaves out.
    """
    spans = np.full((len(bounds), 2), -1)
    for row, bound in enumerate(bounds):
        if bound is None:
            continue
        first, stop = contexts.splits[row], contexts.splits[row + 1]
        spans[row, 0] = first + np.searchsorted(contexts.ends[first:stop], bound[0], side="right")
        spans[row, 1] = first + np.searchsorted(contexts.starts[first:stop], bound[1], side="left") - 1
        if spans[row, 0] > spans[row, 1]:
            raise ValueError(f"answers[{row}] must hold a word piece, got none at characters {bound[0]} to {bound[1]}")
    return spans


def answer_positions(spans: Array, windows: Windows) -> Array:
    """The tokens of each window where its row's answer starts and ends.

    Args:
        spans: (rows, 2) the answer's first and last piece, counted in the whole of `contexts.ids`; -1 for none.
        windows: of these rows.

    Returns:
        (windows, 2) int32; `[CLS]`, 0 and 0, where the window does not hold the whole answer (Devlin et al. 2019,
        section 4.3).
    """
    places = spans[windows.rows] - windows.firsts[:, None]
    whole = (places[:, 0] >= 0) & (places[:, 1] < windows.lengths)
    return np.where(whole[:, None], places + windows.columns[:, None], 0).astype("int32")


def widest_windows(windows: Windows, pieces: int) -> Array:
    """For each piece of the contexts the number of the window that shows most around it.

    That is the window with the greatest smaller side, left or right, plus a hundredth of its length; the first one on
    a tie (`_check_is_max_context` of google-research/bert).

    Args:
        windows: all of them.
        pieces: how many pieces the contexts have.

    Returns:
        (pieces + 1,), the last one for what is no piece.
    """
    window = np.repeat(windows.numbers, windows.lengths)
    places = _ranges(np.zeros_like(windows.lengths), windows.lengths)
    length = windows.lengths[window]
    scores = 100 * np.minimum(places, length - 1 - places) + length
    # Score and window in one number, the window counted backwards, so that the greatest is the first of the best.
    total = len(windows.numbers)
    best = np.zeros(pieces + 1, "int64")
    np.maximum.at(best, _ranges(windows.firsts, windows.lengths), (scores + 1) * total - window)
    return -best % total


def _ranges(firsts: Array, lengths: Array) -> Array:
    """The numbers first, first + 1, ... of each, `length` many, one after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(firsts - before, lengths) + np.arange(lengths.sum())
