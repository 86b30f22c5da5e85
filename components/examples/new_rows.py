"""Rows that came after a training, read as its schema says; they may have no labels."""

from typing import Any

from components.examples.row_schema import RowSchema
from components.files.paths import match_files
from components.files.record_files import RECORD_KINDS, as_text, has_column, read_table
from components.sources.label_sets import LabelSetRow, LabelSetSource
from components.sources.questions import QuestionSource
from components.sources.retrieval import RetrievalSource
from components.sources.table import TableSource, TextRow
from components.sources.tagged_words import SentenceSource


def read_new_rows(schema: RowSchema, path: str) -> tuple[list[Any], bool]:
    """The rows of files, and whether they have labels.

    Raises:
        InputError: a file is missing or malformed, or lacks a column that the training rows had; the column of labels
            alone may be missing, in all files and rows.
    """
    if schema.task == QuestionSource.task:
        return list(QuestionSource(train=path).splits()["train"]), True
    if schema.task == SentenceSource.task:
        return list(SentenceSource(train=path, **schema.source).read(path)), True
    if schema.task == RetrievalSource.task:
        # The schema is one of queries: negatives that the training rows had may be missing.
        columns = {name: value for name, value in schema.source.items() if name in ("query", "passage")}
        return RetrievalSource(train=path, **columns).splits()["train"], True
    # JSON has no tuples.
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in schema.source.items()
    }
    source: TableSource | LabelSetSource
    if schema.task == LabelSetSource.task:
        source = LabelSetSource(train=path, **fields)
    else:
        source = TableSource(train=path, task=schema.task, **fields)  # type: ignore[arg-type]
    files = match_files(path, RECORD_KINDS, what="the new rows")
    labels = getattr(source, "label_columns", None) or (source.label,)
    if any(has_column(file, labels) for file in files):
        return list(source.read(path)), True
    texts_of = (source.text,) if source.second_text is None else (source.text, source.second_text)
    rows: list[TextRow | LabelSetRow] = []
    for record in read_table(path, texts_of):
        texts = [as_text(value, record.where, name) for value, name in zip(record.values, texts_of, strict=True)]
        second = texts[1] if len(texts) > 1 else None
        is_set = schema.task == LabelSetSource.task
        rows.append(LabelSetRow(texts[0], (), second) if is_set else TextRow(texts[0], "", second))
    return rows, False
