"""Predictions for texts and pairs of texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.scoring.mistakes import cut
from components.sources.table import TextRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


def predict_rows(task: "Task", rows: Sequence[TextRow]) -> list[Any]:
    """The result of `predict` of a classification or a regression for each row."""
    answers: list[Any] = task.predict(*split_texts(rows))
    return answers


def displayed_texts(row: TextRow) -> tuple[str, ...]:
    """The text of a row, or both texts of a pair, cut for display."""
    return tuple(cut(text) for text in (row.text, row.second_text) if text is not None)


def split_texts(rows: Sequence[TextRow]) -> tuple[list[str], list[str] | None]:
    """The texts, and the second ones of pairs."""
    if rows[0].second_text is None:
        return [row.text for row in rows], None
    return [row.text for row in rows], [row.second_text or "" for row in rows]
