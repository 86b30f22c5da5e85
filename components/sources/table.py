"""Labelled rows from a table with named columns."""

import math
from typing import NamedTuple

from components.dsl.errors import InputError
from components.files.paths import match_files
from components.files.record_files import RECORD_KINDS, Record, as_text, read_records


class Row(NamedTuple):
    """One example of a task: a text, its label (or number) and the second text of a pair."""

    text: str
    label: str
    second_text: str | None = None


def read_table(path: str, text: str, label: str, second_text: str | None = None, *, numbers: bool = False) -> list[Row]:
    """The rows of a table, or of several one after the other, given the names of its columns.

    Args:
        path: see `components.files.paths.match_files`; of the kinds `RECORD_KINDS`.
        text: the column of the text.
        label: that of the label.
        second_text: that of the second text of a pair.
        numbers: whether labels must be finite numbers.

    Raises:
        InputError: the table is missing, empty, not UTF-8, of an unknown kind, lacks a named column, or has a
            row without a text or label, or with a label that is no number.
    """
    columns = (text, label) if second_text is None else (text, label, second_text)
    files = match_files(path, RECORD_KINDS, what="the table")
    rows = [_make_row(record, columns, numbers) for file in files for record in read_records(file, columns)]
    if not rows:
        raise InputError(f"the table {path} must hold at least one row, got none")
    return rows


def _make_row(record: Record, columns: tuple[str, ...], numbers: bool) -> Row:
    values = [as_text(value, record.where, column) for column, value in zip(columns, record.values, strict=True)]
    for column, value in zip(columns, values, strict=True):
        if not value.strip():
            raise InputError(f"{record.where}: column {column!r} must not be empty")
    label = values[1].strip()
    if numbers and not _is_number(label):
        raise InputError(f"{record.where}: column {columns[1]!r} must be a finite number, got {label!r}")
    return Row(values[0], label, values[2] if len(values) > 2 else None)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
