"""The rows of a source, read and tokenized."""

from pathlib import Path
from typing import Any

from components.artifacts.standard import LabelledRows, RowOrigins, TaskExamples, Vocabulary
from components.examples.registry import TASK_ROWS
from components.examples.row_schema import RowSchema, infer_schema
from components.examples.source_rows import list_fields
from components.ingest_examples import ingest_examples
from components.read_examples import read_examples
from keras_bert.core.plugins import find_plugins

# The tasks that are trained on rows, without those of plug-ins, which have tests of their own.
CORE_TASKS = [task for task in TASK_ROWS if task not in find_plugins("task_rows")]


def read_source_rows(folder: Path, source: Any, **settings: Any) -> LabelledRows:
    """The rows of a source in their splits; `settings` are those of `read_examples`."""
    rows = LabelledRows(folder)
    read_examples.run(rows=rows, origins=origins_of(rows), source=source, **settings)
    return rows


def origins_of(rows: LabelledRows) -> RowOrigins:
    """The origins that `read_source_rows` wrote."""
    return RowOrigins(rows.path.with_name(f"{rows.path.name}-origins"))


def ingest_source(
    examples: TaskExamples, vocabulary: Vocabulary, source: Any, *, unlabelled: Any = None, **settings: Any
) -> TaskExamples:
    """Fills `examples` with the rows of a source; `settings` are those of `ingest_examples`."""
    folder = examples.path.with_name(f"{examples.path.name}-rows")
    rows = read_source_rows(folder, source, unlabelled=unlabelled)
    ingest_examples.run(vocabulary=vocabulary, rows=rows, examples=examples, **settings)
    return examples


def schema_of(rows: list[Any], source: Any, max_length: int, tokenizer: Any) -> RowSchema:
    """The schema of rows of a source."""
    return infer_schema(rows, TASK_ROWS[source.task], list_fields(source), max_length, tokenizer)
