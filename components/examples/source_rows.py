"""The rows of a source in their final splits."""

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
from components.sources.shared import SPLITS, LabelledFiles
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from components.sources.teacher_columns import FilesWithTeacherAnswers, UnlabelledSource

AnySource = TableSource | LabelSetSource | DocstringTask | SentenceSource | QuestionSource | RetrievalSource
Splits = dict[str, list[Any]]


class SourceRows(NamedTuple):
    """The rows of a source.

    Attributes:
        labels: the labels in the order of their numbers; empty for tasks without labels.
        near_overlap: the counts of near texts, see `resolve_overlap`.
    """

    splits: Splits
    labels: list[str]
    near_overlap: OverlapCounts
    clauses: list[str]


def read_source(source: AnySource, unlabelled: UnlabelledSource | None = None) -> SourceRows:
    """Reads the rows, makes missing splits of training rows, and treats rows that are in two splits as the source says.

    Unlabelled texts with a teacher's answers become training rows.
    """
    task, raw_splits = TASK_ROWS[source.task], source.splits()
    if unlabelled is not None:
        raw_splits["train"] += read_unlabelled(source, unlabelled)
    # The labels of all training rows: a rare tag may be in none of the rows that remain after the splitting.
    labels = task.labels(source, raw_splits["train"])
    splits, _ = resolve_overlap(raw_splits, task, "in", source.overlap)
    splits, near_overlap = resolve_overlap(complete_splits(splits, task), task, "near", source.near_overlap)
    task.check(splits)
    # Only sources of files have remarks, not the built-in task or the sources of registered tasks.
    clauses = source.describe(raw_splits) if isinstance(source, LabelledFiles) else []
    return SourceRows(splits, labels, near_overlap, [*clauses, *describe_shared_texts(splits, task.key)])


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
