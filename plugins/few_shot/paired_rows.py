"""Rows with labels -> pairs of their texts, with 1.0 for a label in common and 0.0 for none."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.classification import ClassificationRows
from components.examples.multi_label import LabelSetRows
from components.sources.table import TextRow

if TYPE_CHECKING:
    from components.dsl.arrays import Array

# Tasks whose rows have labels of whole texts.
PAIRED_TASKS = (ClassificationRows.name, LabelSetRows.name)
_COSINES = {True: "1.0", False: "0.0"}


def pair_rows(
    task: TaskRows[Any], rows: Sequence[Any], partners: Sequence[Any] | None = None, *, pairs: int, seed: int = 0
) -> list[TextRow]:
    """Rows of the task `embedding`: the texts of a row and of a partner, and the cosine that their vectors shall have.

    `partners` stand in the second place; None for the same rows. See `plugins.few_shot.label_pairs.draw_label_pairs`
    for `pairs`.
    """
    from plugins.few_shot.label_pairs import draw_label_pairs

    labels = sorted(task.count_labels([*rows, *(partners or ())]) or ())
    flags = _flag_labels(task, rows, labels)
    partner_flags = None if partners is None else _flag_labels(task, partners, labels)
    drawn = draw_label_pairs(flags, partner_flags, pairs=pairs, seed=seed)
    seconds = rows if partners is None else partners
    return [
        TextRow(rows[first].text, _COSINES[bool(is_same)], seconds[second].text)
        for first, second, is_same in zip(*drawn, strict=True)
    ]


def check_pairable(task: TaskRows[Any], rows: Sequence[Any]) -> None:
    """Raises InputError where no two training rows have a label in common."""
    counts = task.count_labels(rows)
    assert counts is not None
    if max(counts.values(), default=0) < 2:
        raise InputError(
            f"few_shot needs a label with at least 2 training rows, as these are pairs of the same label; got one row "
            f"for each of {len(counts)} labels; add rows, or set few_shot.pairs = 0"
        )


def _flag_labels(task: TaskRows[Any], rows: Sequence[Any], labels: Sequence[str]) -> "Array":
    """1 for each label of a row, else 0 (rows, labels)."""
    import numpy as np

    sets = [{*(task.count_labels([row]) or ())} for row in rows]
    return np.array([[int(label in names) for label in labels] for names in sets], "int8")
