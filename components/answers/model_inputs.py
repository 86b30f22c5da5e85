"""Checks of the texts for a task: single texts or pairs, and texts that the model ignores or truncates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from components.dsl.errors import InputError

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


class UnreadTexts(NamedTuple):
    """The texts that the model ignores or truncates.

    Attributes:
        empty: the indices of the first texts without tokens, and those of the second texts.
        cut: index of each truncated row -> its number of tokens, above `Task.max_length`.
    """

    empty: tuple[list[int], list[int]]
    cut: dict[int, int]


def find_unread(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> UnreadTexts:
    """Tokenizes texts or pairs, and finds texts that the model ignores or truncates."""
    counts = [task.count_tokens(side) if side else [] for side in (texts, seconds or ())]
    special = task.tokenizer.special_count(1)
    empty = tuple([row for row, count in enumerate(side) if count == special] for side in counts)
    if not task.truncates:
        lengths = []
    elif seconds is None:
        lengths = counts[0]
    elif task.second_text == "compared":
        lengths = [max(pair) for pair in zip(*counts, strict=True)]
    else:
        both = task.tokenizer.special_count(2) - 2 * special
        lengths = [sum(pair) + both for pair in zip(*counts, strict=True)]
    return UnreadTexts(
        (empty[0], empty[1]), {row: length for row, length in enumerate(lengths) if length > task.max_length}
    )


def takes_pairs(task: "Task") -> bool | None:
    """Returns True if a task takes pairs, False for single texts, None if it takes both or this is unknown."""
    return {"required": True, "unused": False, "compared": None, "optional": task.pairs}[task.second_text]


def check_second(task: "Task", *, given: bool) -> None:
    """Checks that there are second texts if the task needs them, and none if it takes none."""
    pairs = takes_pairs(task)
    if pairs and not given:
        raise InputError(f"--second must give the {task.second_name}, got none")
    if given and pairs is False:
        raise InputError("--second must be left out: the model takes single texts")
