"""Packs the tokens of words into rows that fit a model, and records the column where each word starts."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Words:
    """The words of sentences and the tokens of words, in flat arrays.

    Attributes:
        ids: token ids of all words, in order (tokens,).
        sizes: number of tokens of each word (words,); 0 for a word of which the tokenizer leaves nothing.
        splits: sentence s has the words splits[s]:splits[s + 1] (sentences + 1,).
    """

    ids: Array
    sizes: Array
    splits: Array


@dataclasses.dataclass(frozen=True)
class WordRows:
    """Rows of tokens, each with whole words of one sentence.

    Attributes:
        token_ids: token ids without special tokens (rows, longest).
        lengths: number of tokens of each row (rows,).
        word: index of each word with tokens, once for each row that holds it (places,), row by row.
        row: row of the word (places,).
        column: column of the word's first token (places,).
    """

    token_ids: Array
    lengths: Array
    word: Array
    row: Array
    column: Array

    def model_inputs(self, *, cls_id: int, sep_id: int, pad_id: int) -> dict[str, Array]:
        """`[CLS]`, the tokens, `[SEP]` as the encoder's inputs (rows, longest + 2), int32."""
        rows, width = self.token_ids.shape[0], self.token_ids.shape[1] + 2
        token_ids = np.full((rows, width), pad_id, "int32")
        token_ids[:, 1:-1] = np.where(np.arange(width - 2) < self.lengths[:, None], self.token_ids, pad_id)
        token_ids[:, 0] = cls_id
        token_ids[np.arange(rows), self.lengths + 1] = sep_id
        padding_mask = (np.arange(width) < self.lengths[:, None] + 2).astype("int32")
        return {"token_ids": token_ids, "segment_ids": np.zeros_like(token_ids), "padding_mask": padding_mask}

    def most_central(self) -> Array:
        """For each word with tokens, the place with the most context on its shorter side (words,).

        The "maximum context" of the released code for SQuAD (google-research/bert, `run_squad.py`).
        """
        context = np.minimum(self.column, self.lengths[self.row] - self.column - 1)
        order = np.lexsort((-self.row, context, self.word))
        ordered = self.word[order]
        return order[np.append(ordered[1:] != ordered[:-1], True)] if len(order) else order

    def first_tokens(self, outputs: Sequence[Array]) -> tuple[Array, Array]:
        """The output of the first token of each word, in the row in which the word has most context.

        The outputs are those of each row (length, ...); the result is the index of each word with tokens (words,), and
        its output (words, ...).
        """
        places = np.sort(self.most_central())
        rows, first = np.unique(self.row[places], return_index=True)
        # In front of the tokens of a row is the special token.
        columns = np.split(self.column[places] + 1, first[1:])
        selected = [outputs[row][column] for row, column in zip(rows, columns, strict=True)]
        return self.word[places], np.concatenate(selected)


def tokenize_words(tokenizer: "BaseTokenizer", sentences: Sequence[Sequence[str]]) -> Words:
    """The words of sentences, each word tokenized by itself."""
    words = [word for sentence in sentences for word in sentence]
    # The tokenizer wants at least one text.
    tokens = tokenizer.tokenize_words(words or [""])
    splits = np.cumsum([0, *map(len, sentences)])
    return Words(np.asarray(tokens.flat_values), np.asarray(tokens.row_lengths())[: len(words)], splits)


def pack_words(words: Words, room: int, overlap: int = 0) -> WordRows:
    """Packs each sentence into one row, or into several of at most `room` tokens; none for one without tokens.

    A word longer than `room` is truncated; a row repeats at most `overlap` tokens of the row before.
    """
    ids = words.ids[_count_up(words.sizes) < room]
    sizes = np.minimum(words.sizes, room)
    before = np.concatenate([[0], np.cumsum(sizes)])
    totals = before[words.splits[1:]] - before[words.splits[:-1]]
    spans: list[tuple[int, int]] = []  # for each row the index of its first word, and the index after its last
    for begin, end, total in zip(words.splits[:-1].tolist(), words.splits[1:].tolist(), totals.tolist(), strict=True):
        if 0 < total <= room:
            spans.append((begin, end))
        elif total > room:
            spans += [(begin + first, begin + last) for first, last in split_words(sizes[begin:end], room, overlap)]
    runs = np.array(spans, "int64").reshape(-1, 2)
    starts, lengths = before[runs[:, 0]], before[runs[:, 1]] - before[runs[:, 0]]
    tokens = np.zeros((len(runs), lengths.max(initial=0)), "int32")
    row, column = np.repeat(np.arange(len(runs)), lengths), _count_up(lengths)
    tokens[row, column] = ids[starts[row] + column]
    counts = runs[:, 1] - runs[:, 0]
    row = np.repeat(np.arange(len(runs)), counts)
    word = runs[row, 0] + _count_up(counts)
    held = sizes[word] > 0
    row, word = row[held], word[held]
    return WordRows(tokens, lengths, word, row, before[word] - starts[row])


def split_words(sizes: Sequence[int] | Array, room: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Splits a sentence into runs of at most `room` tokens: the first word of each, and the one after its last.

    Sizes are the numbers of tokens of the words; a run repeats at most `overlap` tokens of the run before.
    """
    before = np.concatenate([[0], np.cumsum(sizes)])
    runs, first = [], 0
    while True:
        last = int(np.searchsorted(before, before[first] + room, side="right")) - 1
        runs.append((first, last))
        if last == len(sizes):
            return runs
        # With more overlap a run would have no room for the next word, and the loop would not end.
        first = int(np.searchsorted(before, max(before[last] - overlap, before[last + 1] - room)))


def _count_up(lengths: Array) -> Array:
    """[2, 3] -> [0, 1, 0, 1, 2]."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
