"""The rows of every task, and the files of TaskExamples that hold rows before they are tokenized."""

import dataclasses
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from components.artifacts.standard import LabelledRows, RowOrigins, TaskExamples
from components.dsl.artifact import Artifact
from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.classification import ClassificationRows
from components.examples.multi_label import LabelSetRows
from components.examples.question_answering import QuestionRows
from components.examples.regression import EmbeddingRows, RegressionRows
from components.examples.reranking import RerankingRows
from components.examples.retrieval import RetrievalRows
from components.examples.token_classification import TaggedRows
from components.files.tables import read_records
from components.sources.shared import RowOrigin
from keras_bert.core.plugins import find_plugins

TASK_ROWS: dict[str, TaskRows[Any]] = {
    rows.name: rows
    for rows in (
        ClassificationRows(), LabelSetRows(), RegressionRows(), TaggedRows(), QuestionRows(), EmbeddingRows(),
        RetrievalRows(), RerankingRows(), *(plugin.load()() for plugin in find_plugins("task_rows").values()),
    )
}  # fmt: skip


def check_unlabelled(task: str) -> None:
    """Raises InputError unless rows of the task may be texts without labels."""
    if not TASK_ROWS[task].may_be_unlabelled:
        names = [name for name, rows in TASK_ROWS.items() if rows.may_be_unlabelled]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        raise InputError(f"unlabelled is only allowed for {listed}, got it for {task}")


def write_rows(file: Path, task: TaskRows[Any], rows: Iterable[Any]) -> None:
    """Writes rows before they are tokenized, a JSON object a line; the same rows give the same bytes."""
    _write_lines(file, map(task.as_fields, rows))


def write_origins(file: Path, rows: Iterable[Any]) -> None:
    """Writes the origins of rows, a JSON object a line; rows of a task of another package may have none."""
    _write_lines(file, (dataclasses.asdict(getattr(row, "origin", RowOrigin())) for row in rows))


def _write_lines(file: Path, records: Iterable[dict[str, Any]]) -> None:
    with file.open("wb") as stream, gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
        for record in records:
            packed.write(f"{json.dumps(record, ensure_ascii=False)}\n".encode())


def read_rows(examples: TaskExamples, split: str) -> list[Any]:
    """The rows of a split, in order: the class, such as `TextRow` or `QueryRow`, depends on the task."""
    return _read_rows(examples, TASK_ROWS[examples.features()["task"]], split)


def read_labelled_rows(rows: LabelledRows, split: str) -> list[Any]:
    """The rows of a split, in the order of those of `TaskExamples`."""
    return _read_rows(rows, TASK_ROWS[rows.read().task], split)


def _read_rows(artifact: Artifact, task: TaskRows[Any], split: str) -> list[Any]:
    return [task.parse(record) for record in read_records(str(artifact.file(f"{split}.jsonl.gz")), task.fields)]


def read_origins(origins: RowOrigins, split: str) -> list[RowOrigin]:
    """The origin of each row of a split, in the order of the rows."""
    fields = ("location", "columns")
    return [RowOrigin(*record.values) for record in read_records(str(origins.file(f"{split}.jsonl.gz")), fields)]
