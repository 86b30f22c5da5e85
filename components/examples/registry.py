"""The rows of every task, and the rows of TaskExamples as they were read, before any tokenizing."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from components.artifacts.task_examples import TaskExamples
from components.examples.base import TaskRows
from components.examples.classification import ClassificationRows
from components.examples.embedding import EmbeddingRows
from components.examples.question_answering import QuestionRows
from components.examples.regression import RegressionRows
from components.examples.token_classification import TaggedRows
from components.files.record_files import read_records

TASK_ROWS: dict[str, TaskRows[Any]] = {
    rows.name: rows for rows in (ClassificationRows(), EmbeddingRows(), QuestionRows(), RegressionRows(), TaggedRows())
}


def write_rows(file: Path, task: TaskRows[Any], rows: Iterable[Any]) -> None:
    """Writes rows as they were read, a JSON object a line; the same rows give the same bytes."""
    with file.open("wb") as stream, gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
        for row in rows:
            packed.write(f"{json.dumps(task.as_fields(row), ensure_ascii=False)}\n".encode())


def read_rows(examples: TaskExamples, split: str) -> list[Any]:
    """The rows of a split, in order: `TextRow`, `Sentence` or `Question`, as the task of the examples is."""
    from keras_bert.data.records import read_features

    task = TASK_ROWS[read_features(examples.path)["task"]]
    return [task.parse(record) for record in read_records(str(examples.file(f"{split}.jsonl.gz")), task.fields)]
