"""The number of a task's outputs that an attribution explains."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from keras_bert.tasks.checks import label_number


class RowWords(Protocol):
    """The words of a row, and the tokens that they consist of."""

    @property
    def words(self) -> np.ndarray[Any, Any]:
        """The number of the word that each token is a part of, -1 for special tokens: int32 (tokens,)."""

    @property
    def segments(self) -> np.ndarray[Any, Any]:
        """The text that each token belongs to, 0 or 1: int32 (tokens,)."""

    @property
    def answer(self) -> tuple[int, int] | None:
        """The first and the last token of the answer, where the task looks for it in several rows; else None."""

    @property
    def word_texts(self) -> Sequence[str]:
        """The words as they stand in the texts, in the order of their numbers."""


class AnswerRow(NamedTuple):
    """The part of a text or pair that a model reads in the row which its answer comes from.

    Attributes:
        features: the model's inputs (1, length).
        parts: the tokens of each text that stand in the row; None for as many of the first ones as `encode` takes.
        span: the first and the last token of the answer in the row; None where there is no such thing.
        answer: the characters of the answer in its text, 0 and 0 for no answer; None where answers are not spans.
    """

    features: dict[str, np.ndarray[Any, Any]]
    parts: Sequence[slice] | None = None
    span: tuple[int, int] | None = None
    answer: tuple[int, int] | None = None


class UnexplainedRowError(ValueError):
    """A row has no number that can be explained, as a text without words has no tag of a word."""


@dataclasses.dataclass(frozen=True)
class Target:
    """A number of a task's outputs.

    Attributes:
        name: its name for readers, such as a label.
        choice: the argument by which `Task.target` chooses it again, in another model that reads the same words.
        score: selects the number of each row: the model's outputs (rows, ...) -> (rows,).
        word: the number of the word that it is a number of, such as a tag; None for a number of the whole row.
        choice_at: the choice of this number at a word with another number; None without a word.
    """

    name: str
    choice: str | None
    score: Callable[[Any], Any]
    word: int | None = None
    choice_at: Callable[[int], str] | None = None


def first_tokens(row: RowWords) -> list[int]:
    """The place of the first token of each word in its row."""
    numbers, places = np.unique(row.words, return_index=True)
    return [int(place) for place in places[numbers >= 0]]


def word_number(choice: str, row: RowWords) -> int:
    """The number of a word of a row, by that number or by the word's text, which stands for its first place."""
    words = list(row.word_texts)
    if not words:
        raise UnexplainedRowError(f"target must name a word of the text, which has none, got {choice!r}")
    if choice.isdecimal() and int(choice) < len(words):
        return int(choice)
    return label_number("target", choice, words)
