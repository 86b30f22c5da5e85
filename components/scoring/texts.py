"""Predictions for texts and pairs of texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.examples.texts import split_texts
from components.scoring.mistakes import cut
from components.sources.label_sets import LabelSetRow
from components.sources.table import TextRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


def predict_rows(task: "Task", rows: Sequence[TextRow]) -> list[Any]:
    """The result of `predict` of a classification or a regression for each row."""
    answers: list[Any] = task.predict(*split_texts(rows))
    return answers


def displayed_texts(row: TextRow | LabelSetRow) -> tuple[str, ...]:
    """The text of a row, or both texts of a pair, cut for display."""
    return tuple(cut(text) for text in (row.text, row.second_text) if text is not None)
