"""Asking a task about texts and pairs of texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.scoring.mistakes import cut
from components.sources.table import TextRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


def ask_texts(task: "Task", rows: Sequence[TextRow]) -> list[Any]:
    """What the `predict` of a classification or a regression gives for each row."""
    answers: list[Any] = task.predict(*split_texts(rows))
    return answers


def shown_texts(row: TextRow) -> tuple[str, ...]:
    """The text of a row, or both of a pair, as a person is shown them."""
    return tuple(cut(text) for text in (row.text, row.second_text) if text is not None)


def split_texts(rows: Sequence[TextRow]) -> tuple[list[str], list[str] | None]:
    """The texts, and the second ones of pairs."""
    if rows[0].second_text is None:
        return [row.text for row in rows], None
    return [row.text for row in rows], [row.second_text or "" for row in rows]
