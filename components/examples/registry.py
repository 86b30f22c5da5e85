"""The rows of every task, and the files of TaskExamples that hold rows before they are tokenized."""

import dataclasses
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from components.artifacts.standard import LabelledRows, TaskExamples
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

# The field of an `RowOrigin` in the files of LabelledRows, and in rows.
ORIGIN = "origin"

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


def write_rows(file: Path, task: TaskRows[Any], rows: Iterable[Any], *, with_origins: bool = False) -> None:
    """Writes rows before they are tokenized, a JSON object a line; the same rows give the same bytes."""
    with file.open("wb") as stream, gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
        for row in rows:
            # A task of another package may have rows without an origin.
            origin = getattr(row, ORIGIN, None) if with_origins else None
            fields = task.as_fields(row) | ({} if origin is None else {ORIGIN: dataclasses.asdict(origin)})
            packed.write(f"{json.dumps(fields, ensure_ascii=False)}\n".encode())


def read_rows(examples: TaskExamples, split: str) -> list[Any]:
    """The rows of a split, in order: the class, such as `TextRow` or `QueryRow`, depends on the task."""
    return _read_rows(examples, TASK_ROWS[examples.features()["task"]], split)


def read_labelled_rows(rows: LabelledRows, split: str) -> list[Any]:
    """The rows of a split with their origins, in the order of those of `TaskExamples`."""
    return _read_rows(rows, TASK_ROWS[rows.read().task], split)


def _read_rows(artifact: Artifact, task: TaskRows[Any], split: str) -> list[Any]:
    rows = list[Any]()
    for record in read_records(str(artifact.file(f"{split}.jsonl.gz")), task.fields):
        row, origin = task.parse(record), record.cells.get(ORIGIN)
        rows.append(row if origin is None else row._replace(origin=RowOrigin(**origin)))
    return rows
