"""Sentences of words as rows of pieces that fit a model, and where in the rows each word begins."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Words:
    """Sentences as words and words as pieces, each kind in one flat array.

    Attributes:
        ids: of all pieces in order (pieces,).
        sizes: how many pieces each word has (words,); 0 where the tokenizer leaves nothing of it.
        splits: sentence s has the words splits[s]:splits[s + 1], (sentences + 1,).
    """

    ids: Array
    sizes: Array
    splits: Array


@dataclasses.dataclass(frozen=True)
class WordRows:
    """Rows of pieces, each with whole words of one sentence.

    Attributes:
        pieces: ids (rows, longest), without special tokens.
        lengths: how many of them are the row's own (rows,).
        word: each word that has pieces, once for each row that holds it (places,), row by row.
        row: that row (places,).
        column: where the word's first piece stands in the row (places,).
    """

    pieces: Array
    lengths: Array
    word: Array
    row: Array
    column: Array

    def model_inputs(self, *, cls_id: int, sep_id: int, pad_id: int) -> dict[str, Array]:
        """`[CLS]`, the pieces, `[SEP]` as the encoder's inputs (rows, longest + 2), int32."""
        rows, width = self.pieces.shape[0], self.pieces.shape[1] + 2
        token_ids = np.full((rows, width), pad_id, "int32")
        own = np.arange(width - 2) < self.lengths[:, None]
        token_ids[:, 1:-1] = np.where(own, self.pieces, pad_id)
        token_ids[:, 0] = cls_id
        token_ids[np.arange(rows), self.lengths + 1] = sep_id
        padding_mask = (np.arange(width) < self.lengths[:, None] + 2).astype("int32")
        return {"token_ids": token_ids, "segment_ids": np.zeros_like(token_ids), "padding_mask": padding_mask}

    def most_central(self) -> Array:
        """For each word that has pieces, the place where it sees most on the side where it sees less (words,).

        The "maximum context" of the released code for SQuAD (google-research/bert, `run_squad.py`).
        """
        context = np.minimum(self.column, self.lengths[self.row] - self.column - 1)
        order = np.lexsort((-self.row, context, self.word))
        ordered = self.word[order]
        return order[np.append(ordered[1:] != ordered[:-1], True)] if len(order) else order


def pack_words(words: Words, room: int, overlap: int = 0) -> WordRows:
    """Each sentence as one row, or as several where it has more pieces than `room`.

    Args:
        words: of all sentences; of a word longer than `room` the first pieces are kept.
        room: the most pieces a row.
        overlap: the most pieces that a row repeats of the one before it.

    Returns:
        The rows, sentence by sentence; none for a sentence without pieces.
    """
    ids = words.ids[_count_up(words.sizes) < room]
    sizes = np.minimum(words.sizes, room)
    before = np.concatenate([[0], np.cumsum(sizes)])
    runs = _runs(sizes, words.splits, before, room, overlap)
    starts, lengths = before[runs[:, 0]], before[runs[:, 1]] - before[runs[:, 0]]
    pieces = np.zeros((len(runs), lengths.max(initial=0)), "int32")
    row, column = np.repeat(np.arange(len(runs)), lengths), _count_up(lengths)
    pieces[row, column] = ids[starts[row] + column]
    counts = runs[:, 1] - runs[:, 0]
    row = np.repeat(np.arange(len(runs)), counts)
    word = runs[row, 0] + _count_up(counts)
    held = sizes[word] > 0
    row, word = row[held], word[held]
    return WordRows(pieces, lengths, word, row, before[word] - starts[row])


def split_words(sizes: Sequence[int] | Array, room: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Parts a sentence between words into runs of at most `room` pieces.

    Args:
        sizes: how many pieces each word has, at most `room`.
        room: the most pieces a run.
        overlap: the most pieces that a run repeats of the one before it.

    Returns:
        The first word of each run, and the one behind its last.
    """
    before = np.concatenate([[0], np.cumsum(sizes)])
    runs, first = [], 0
    while True:
        last = int(np.searchsorted(before, before[first] + room, side="right")) - 1
        runs.append((first, last))
        if last == len(sizes):
            return runs
        # A run that went further back would have no room for the next word, and never come to an end.
        first = int(np.searchsorted(before, max(before[last] - overlap, before[last + 1] - room)))


def _runs(sizes: Array, splits: Array, before: Array, room: int, overlap: int) -> Array:
    """The first word of each row, and the one behind its last, (rows, 2)."""
    totals = before[splits[1:]] - before[splits[:-1]]
    runs: list[tuple[int, int]] = []
    for begin, end, total in zip(splits[:-1].tolist(), splits[1:].tolist(), totals.tolist(), strict=True):
        if 0 < total <= room:
            runs.append((begin, end))
        elif total > room:
            runs += [(begin + first, begin + last) for first, last in split_words(sizes[begin:end], room, overlap)]
    return np.array(runs, "int64").reshape(-1, 2)


def _count_up(lengths: Array) -> Array:
    """[2, 3] -> [0, 1, 0, 1, 2]."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
