"""The rows of a source in their final splits."""

import dataclasses
from typing import Any, NamedTuple

from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.overlap import OverlapCounts, resolve_overlap
from components.examples.registry import TASK_ROWS, check_unlabelled
from components.examples.splits import describe_shared_texts, fold_key, split_rows
from components.sources.docstring_task import DocstringTask
from components.sources.label_sets import LabelSetSource
from components.sources.questions import QuestionSource
from components.sources.retrieval import RetrievalSource
from components.sources.shared import SPLITS, KeptColumns, LabelledFiles
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from components.sources.teacher_columns import FilesWithTeacherAnswers, UnlabelledSource

AnySource = TableSource | LabelSetSource | DocstringTask | SentenceSource | QuestionSource | RetrievalSource
Splits = dict[str, list[Any]]

# Fields of sources that say nothing about how a file is read.
_NOT_COLUMNS = (
    *(*SPLITS, "task", "overlap", "near_overlap", "prompts"),
    *("probabilities", "probability_columns", "labels", "log_probabilities"),
)


class SourceRows(NamedTuple):
    """The rows of a source, its labels in the order of their numbers, and the columns that training rows keep."""

    splits: Splits
    labels: list[str]
    columns: list[str]
    near_overlap: OverlapCounts
    remarks: list[str]


def read_source(
    source: AnySource, unlabelled: UnlabelledSource | None = None, kept: KeptColumns = KeptColumns()
) -> SourceRows:
    """Reads the rows, makes missing splits of training rows, and treats rows that are in two splits as the source says.

    Unlabelled texts with a teacher's answers become training rows.
    """
    # The built-in task and the sources of registered tasks have no columns and no remarks.
    task = TASK_ROWS[source.task]
    raw_splits = source.splits(kept) if isinstance(source, LabelledFiles) else source.splits()
    origins = [row.origin for row in raw_splits["train"]] if kept.all_of_train else []
    columns = list(dict.fromkeys(name for origin in origins for name in origin.columns))
    if unlabelled is not None:
        raw_splits["train"] += read_unlabelled(source, unlabelled)
    # The labels of all training rows: a rare tag may be in none of the rows that remain after the splitting.
    labels = task.labels(source, raw_splits["train"])
    splits, _ = resolve_overlap(raw_splits, task, "in", source.overlap)
    splits, near_overlap = resolve_overlap(complete_splits(splits, task), task, "near", source.near_overlap)
    task.check(splits)
    remarks = source.describe(raw_splits) if isinstance(source, LabelledFiles) else []
    return SourceRows(splits, labels, columns, near_overlap, [*remarks, *describe_shared_texts(splits, task.key)])


def complete_splits(splits: Splits, task: TaskRows[Any]) -> Splits:
    """The splits; missing ones are made of training rows that have a label of their own."""
    missing = [split for split in SPLITS if split not in splits]
    if not missing:
        return splits
    # Rows whose texts are also in a row without a label stay in training.
    unlabelled = {fold_key(task.key(row)) for row in splits["train"] if not task.has_own_label(row)}
    kept = [row for row in splits["train"] if unlabelled and fold_key(task.key(row)) in unlabelled]
    rows = (
        [row for row in splits["train"] if fold_key(task.key(row)) not in unlabelled] if unlabelled else splits["train"]
    )
    if not rows:
        split, advice = missing[0], "the column of the labels may hold the teacher's own ones"
        raise InputError(f"a {split} part must be taken from rows with labels, got none; add some, as {advice}")
    parts = split_rows(rows, missing, key=task.key, stratum=task.stratum, plural_name=task.plural_name)
    return {**splits, **parts, "train": [*parts["train"], *kept]}


def read_unlabelled(source: AnySource, unlabelled: UnlabelledSource) -> list[Any]:
    """The rows of a table of texts with a teacher's answers."""
    check_unlabelled(source.task)
    if not isinstance(source, FilesWithTeacherAnswers):
        raise InputError("unlabelled.probabilities is only allowed with tables, got it with built-in examples")
    return source.read_unlabelled(unlabelled)


def reads_pairs(source: AnySource) -> bool:
    """Whether a teacher could label pairs of the source's texts, which a model reads together."""
    return TASK_ROWS[source.task].may_be_unlabelled and getattr(source, "second_text", None) is not None


def list_fields(source: Any) -> dict[str, Any]:
    """The fields of a source of files that say how they are read; none for a source without files."""
    if not dataclasses.is_dataclass(source):
        return {}  # of a task from outside
    fields = {field.name: getattr(source, field.name) for field in dataclasses.fields(source)}
    if "train" not in fields:
        return {}
    columns = {name: value for name, value in fields.items() if name not in _NOT_COLUMNS}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in columns.items()}
