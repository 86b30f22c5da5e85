"""What settings need of the labelled rows, which are read before anything starts."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from components.dsl.errors import InputError, prefixed_errors, table_errors
from components.examples.overlap import check_overlap, count_overlap, count_rows, describe_overlap, resolve_leaks
from components.examples.registry import TASK_ROWS
from components.examples.source_rows import complete_splits, read_unlabelled
from components.examples.splits import describe_few_rows, describe_shared_texts, describe_similar_labels
from components.files.columns import MissingColumnError
from components.scoring.base import check_test_rows, choose_metric
from components.scoring.calibration import check_precision
from components.scoring.registry import TASK_SCORING
from components.scoring.slices import check_column_values, column_values
from components.sources.docstring_task import DocstringTask
from components.sources.retrieval import RetrievalSource
from components.sources.table import TableSource
from components.sources.text import read_lines
from components.training.tuning import check_class_weights
from pipeline.capabilities import enabled_capabilities, kept_columns
from pipeline.settings.contrast import check_dimensions, vector_width
from pipeline.settings.page import check_search_texts
from pipeline.settings.schema import Settings


def check_examples(settings: Settings) -> list[str]:
    """Checks the labelled rows, and what the settings say of their labels; gives warnings, see `check_data`."""
    source = settings.examples
    if source is None:
        return []
    if isinstance(source, DocstringTask):
        source.check()
        _check_slice_columns(settings, {})
        _check_labels(settings, source.task, source.labels())
        return []
    kept = kept_columns(settings)
    try:
        splits = source.splits(kept)
    except MissingColumnError as error:
        if error.column not in kept.test:
            raise
        split = "train" if source.test is None else "test"
        raise InputError(f"evaluation.slice_columns must name columns of the {split} table: {error}") from None
    task, complete = TASK_ROWS[source.task], None
    if settings.unlabelled is not None and settings.unlabelled.has_teacher_answers:
        splits["train"] += read_unlabelled(source, settings.unlabelled)
    labels = task.labels(source, splits["train"])
    _check_labels(settings, source.task, labels)
    _check_slice_columns(settings, splits)
    width = vector_width(settings)
    for capability, table in enabled_capabilities(settings):
        width = capability.vector_width(table, settings, width)
    check_dimensions(settings, width)
    if isinstance(source, RetrievalSource):
        task.check(splits)
    else:
        with contextlib.suppress(InputError):  # of too few rows: `ingest_examples` refuses them
            complete = complete_splits(splits, task)
        if complete is not None:
            # Models must be measurable on the rows, and may be better than the trivial answer.
            task.check(complete)
            scoring = TASK_SCORING[source.task]
            metric = choose_metric(settings.evaluation.metric, scoring, labels)
            check_test_rows(scoring, metric, complete["train"], complete["test"], labels)
    for capability, table in enabled_capabilities(settings):
        capability.check_rows(table, settings, splits)
    if source.overlap == "error":
        check_overlap(splits, task, "in")
    if source.near_overlap == "error":
        check_overlap(splits, task, "near")
    is_text = settings.unlabelled is not None and not settings.unlabelled.has_teacher_answers
    if settings.unlabelled is not None and is_text and "error" in (source.overlap, source.near_overlap):
        texts = list(read_lines(settings.unlabelled))
        resolve_leaks(texts, splits, task, overlap=source.overlap, near_overlap=source.near_overlap)
    overlap = count_overlap(splits, task.key) if source.overlap == "keep" else {}
    described = describe_overlap(overlap, count_rows(splits), task.plural_name)
    # Rows with only a teacher's answer are measured on by no split.
    labelled: dict[str, Any] = {**splits, "train": [row for row in splits["train"] if task.has_own_label(row)]}
    shared = describe_shared_texts(complete or splits, task.key)
    described += describe_similar_labels(task.count_labels(splits["train"]) or {})
    few = describe_few_rows(labelled)
    return [*source.describe(splits), *described, *shared, *few, *check_search_texts(settings, splits, width)]


def _check_labels(settings: Settings, task: str, labels: Sequence[str]) -> None:
    """Raises InputError where a metric, a precision or a class weight does not suit the labels of training rows."""
    with prefixed_errors("evaluation."):
        check_precision(settings.evaluation.min_precision, task)
        choose_metric(settings.evaluation.metric, TASK_SCORING[task], labels)
    with prefixed_errors("fine_tuning."):
        check_class_weights(task, labels, settings.fine_tuning.class_weights)
    if settings.fine_tuning.start_head == "fitted":
        from keras_bert.tasks.registry import TASKS
        from keras_bert.training.new_head import check_start

        with table_errors("fine_tuning"):
            check_start(TASKS[task], settings.fine_tuning.start_head)


def _check_slice_columns(settings: Settings, splits: Mapping[str, Sequence[Any]]) -> None:
    """Raises InputError where a column of slices is missing or has too many values, or the rows are of no table."""
    source, thresholds = settings.examples, settings.evaluation
    columns = thresholds.slice_columns
    if not columns:
        return
    with prefixed_errors("evaluation."):
        if not isinstance(source, TableSource):
            task = None if source is None else source.task
            raise InputError(f"slice_columns is only allowed for tables of texts, got {columns[0]!r} for {task}")
        values = column_values(columns, [row.origin for row in splits.get("test", splits["train"])])
        for column in columns:
            check_column_values(column, values[column], thresholds.min_slice_scores)
