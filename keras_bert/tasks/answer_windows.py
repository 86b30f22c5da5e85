"""Splits long contexts into windows, and locates answers in them.

The scheme is that of `run_squad.py` in google-research/bert: a window is `[CLS] question [SEP] part of the context
[SEP]`, the next part starts `stride` tokens later, and a token in several windows may start an answer only in the
window with the most context around it.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_bert.tasks.base import Array, Features

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer


@dataclasses.dataclass(frozen=True)
class TokenizedTexts:
    """The tokens of several texts in one flat array, without special tokens.

    Attributes:
        ids: token ids (tokens,) int32.
        starts: index of the first character of each token in its text (tokens,).
        ends: index after the last character of each token (tokens,).
        splits: text t has the tokens splits[t]:splits[t + 1] (texts + 1,).
    """

    ids: Array
    starts: Array
    ends: Array
    splits: Array

    @classmethod
    def of(cls, tokenizer: "BaseTokenizer", texts: Sequence[str]) -> "TokenizedTexts":
        """Tokenizes texts."""
        rows = tokenizer.tokenize_with_offsets(list(texts))
        ids, starts, ends = (np.asarray(part.flat_values) for part in rows)
        return cls(ids, starts, ends, np.asarray(rows[0].row_splits))

    @property
    def lengths(self) -> Array:
        """The number of tokens of each text (texts,)."""
        return np.diff(self.splits)


@dataclasses.dataclass(frozen=True)
class Windows:
    """The windows of all rows, one or more for each row, in order; all arrays are (windows,).

    Attributes:
        numbers: index of the window.
        rows: row of the question and of the context.
        question_lengths: number of tokens of the question in the window.
        columns: column of the first token of the context.
        firsts: index of the first token of the context in `contexts.ids`.
        lengths: number of tokens of the context in the window; 0 for an empty context.
    """

    numbers: Array
    rows: Array
    question_lengths: Array
    columns: Array
    firsts: Array
    lengths: Array

    def part(self, chosen: slice | Array) -> "Windows":
        """Some of the windows."""
        return Windows(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))


def cut_windows(
    questions: TokenizedTexts,
    contexts: TokenizedTexts,
    *,
    max_length: int,
    stride: int,
    max_query_length: int,
    special: int,
) -> Windows:
    """Splits each row into windows; the last window of a row ends with its context.

    A window has at most `max_length` tokens, `special` ones included, and starts `stride` tokens of the context behind
    the window before. Questions are truncated to `max_query_length` tokens.
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


def window_features(
    questions: TokenizedTexts, contexts: TokenizedTexts, windows: Windows, tokenizer: "BaseTokenizer"
) -> Features:
    """The model's inputs (windows, longest window), int32."""
    sizes = windows.columns + windows.lengths + 1
    columns = np.arange(sizes.max())
    token_ids = np.full((len(sizes), len(columns)), tokenizer.pad_id, "int32")
    every = np.arange(len(sizes))
    token_ids[:, 0] = tokenizer.cls_id
    for place in (sizes - 1, *(windows.question_lengths + 1 + number for number in range(tokenizer.between))):
        token_ids[every, place] = tokenizer.sep_id
    for tokens, firsts, lengths, column in (
        (questions, questions.splits[windows.rows], windows.question_lengths, np.ones_like(sizes)),
        (contexts, windows.firsts, windows.lengths, windows.columns),
    ):
        token_ids[np.repeat(every, lengths), _ranges(column, lengths)] = tokens.ids[_ranges(firsts, lengths)]
    inside = columns < sizes[:, None]
    second = inside & (columns >= windows.columns[:, None])
    segment_ids = tokenizer.second_segment * second.astype("int32")
    return {"token_ids": token_ids, "segment_ids": segment_ids, "padding_mask": inside.astype("int32")}


def find_tokens(contexts: TokenizedTexts, bounds: Sequence[tuple[int, int] | None]) -> Array:
    """The first and the last token of each span of characters; tokens that are partly in a span belong to it.

    Bounds are the index of a span's first character and the index after its last, or None. The result has indices in
    `contexts.ids` (rows, 2); -1 for None.
    """
    spans = np.full((len(bounds), 2), -1)
    for row, bound in enumerate(bounds):
        if bound is None:
            continue
        first, stop = contexts.splits[row], contexts.splits[row + 1]
        spans[row, 0] = first + np.searchsorted(contexts.ends[first:stop], bound[0], side="right")
        spans[row, 1] = first + np.searchsorted(contexts.starts[first:stop], bound[1], side="left") - 1
        if spans[row, 0] > spans[row, 1]:
            raise ValueError(f"answers[{row}] must hold a token, got none at characters {bound[0]} to {bound[1]}")
    return spans


def answer_positions(spans: Array, windows: Windows) -> Array:
    """The columns of each window where its row's answer starts and ends: (windows, 2) int32.

    Spans are indices of the answer's first and last token in `contexts.ids` (rows, 2); -1 for no answer. Windows
    without the whole answer have 0 and 0, the column of `[CLS]` (Devlin et al. 2019, section 4.3).
    """
    places = spans[windows.rows] - windows.firsts[:, None]
    whole = (places[:, 0] >= 0) & (places[:, 1] < windows.lengths)
    return np.where(whole[:, None], places + windows.columns[:, None], 0).astype("int32")


def drop_split_answers(spans: Array, windows: Windows) -> Windows:
    """The windows of rows whose answer is whole in a window. Windows of other rows would teach that there is no answer.

    `spans` is the result of `answer_positions`.
    """
    whole = answer_positions(spans, windows).any(axis=1)
    fits = (spans[:, 0] < 0) | (np.bincount(windows.rows[whole], minlength=len(spans)) > 0)
    return windows.part(fits[windows.rows])


def widest_windows(windows: Windows, tokens: int) -> Array:
    """For each token of the contexts the index of the window with the most context around it; one more for padding.

    That is the window with the greatest smaller side, left or right, plus a hundredth of its length; the first one on a
    tie (`_check_is_max_context` of google-research/bert). `tokens` is the number of tokens of all contexts.
    """
    window = np.repeat(windows.numbers, windows.lengths)
    places = _ranges(np.zeros_like(windows.lengths), windows.lengths)
    length = windows.lengths[window]
    scores = 100 * np.minimum(places, length - 1 - places) + length
    # Score and window in one number, the window counted backwards, so that the greatest is the first of the best.
    total = len(windows.numbers)
    best = np.zeros(tokens + 1, "int64")
    np.maximum.at(best, _ranges(windows.firsts, windows.lengths), (scores + 1) * total - window)
    return -best % total


def _ranges(firsts: Array, lengths: Array) -> Array:
    """Concatenated ranges: first, first + 1, ..., first + length - 1 for each first and length."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(firsts - before, lengths) + np.arange(lengths.sum())
