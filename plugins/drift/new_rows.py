"""Rows that came after a training, read as its schema says; they may have no labels."""

from typing import Any

from components.dsl.errors import InputError
from components.examples.row_schema import RowSchema
from components.files.tables import ABSENT, as_text, read_table
from components.sources.label_sets import LabelSetRow, LabelSetSource
from components.sources.questions import QuestionSource
from components.sources.registry import TASK_SOURCES
from components.sources.retrieval import RetrievalSource
from components.sources.table import TableSource, TextRow
from components.sources.tagged_words import SentenceSource


def read_new_rows(schema: RowSchema, path: str) -> tuple[list[Any], bool]:
    """The rows of files, and whether they have labels."""
    if schema.task == QuestionSource.task:
        return list(QuestionSource(train=path).splits()["train"]), True
    if schema.task == SentenceSource.task:
        return list(SentenceSource(train=path, **schema.source).read(path)), True
    kind = TASK_SOURCES[schema.task]
    if issubclass(kind, RetrievalSource):
        # The schema is one of queries: negatives that the training rows had may be missing.
        columns = {name: value for name, value in schema.source.items() if name in ("query", "passage")}
        return kind(train=path, **columns).splits()["train"], True
    # JSON has no tuples.
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in schema.source.items()
    }
    source: TableSource | LabelSetSource = kind(train=path, task=schema.task, **fields)
    names, labels = source.columns(), getattr(source, "label_columns", None) or (source.label,)
    records = list(read_table(path, names, optional=labels))
    partial = [record for record in records if ABSENT in record.values]
    if len(partial) < len(records) or any(record.values.count(ABSENT) < len(labels) for record in partial):
        if partial:
            column = names[partial[0].values.index(ABSENT)]
            raise InputError(f"{partial[0].where} must have the column {column!r}, as other new rows have labels")
        return list(source.make_rows(path, records)), True
    rows: list[TextRow | LabelSetRow] = []
    for record in records:
        pairs = zip(names, record.values, strict=True)
        texts = [as_text(value, record.where, name) for name, value in pairs if value is not ABSENT]
        second = texts[1] if len(texts) > 1 else None
        is_set = schema.task == LabelSetSource.task
        rows.append(LabelSetRow(texts[0], (), second) if is_set else TextRow(texts[0], "", second))
    return rows, False
