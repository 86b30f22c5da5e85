"""Asking a task about texts and pairs of texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.sources.table import TextRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


def ask_texts(task: "Task", rows: Sequence[TextRow]) -> list[Any]:
    """What the `predict` of a classification or a regression gives for each row."""
    pairs = None if rows[0].second_text is None else [row.second_text for row in rows]
    answers: list[Any] = task.predict([row.text for row in rows], pairs)
    return answers
