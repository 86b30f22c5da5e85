"""The number of a task's outputs that an attribution explains."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np


class WordPlaces(Protocol):
    """The words of a row; `keras_bert.explain.Tokens` has them.

    Attributes:
        words: the number of the word that each token is a part of, -1 for special tokens: int32 (tokens,).
        segments: the text that each token belongs to, 0 or 1: int32 (tokens,).
    """

    @property
    def words(self) -> np.ndarray[Any, Any]:
        """See above."""

    @property
    def segments(self) -> np.ndarray[Any, Any]:
        """See above."""

    @property
    def word_texts(self) -> Sequence[str]:
        """The words as they stand in the texts, in the order of their numbers."""


@dataclasses.dataclass(frozen=True)
class Target:
    """A number of a task's outputs.

    Attributes:
        name: its name for readers, such as a label.
        choice: the argument by which `Task.target` chooses it again, in another model, too.
        score: selects the number of each row: the model's outputs (rows, ...) -> (rows,).

    Examples:
        >>> Target("yes", "yes", lambda logits: logits[:, 1]).score(np.array([[0.5, 2.5]])).tolist()
        [2.5]
    """

    name: str
    choice: str | None
    score: Callable[[Any], Any]


def first_tokens(row: WordPlaces) -> list[int]:
    """The place of the first token of each word in its row.

    Examples:
        >>> from keras_bert.explain import Tokens
        >>> first_tokens(Tokens.of(task.tokenizer, ["film film"], max_length=16))
        [1, 2]
    """
    numbers, places = np.unique(row.words, return_index=True)
    return [int(place) for place in places[numbers >= 0]]
