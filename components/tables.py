"""Labelled rows from a table: TSV, CSV or JSON lines, told apart by the extension."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from components.base import InputError, nearest
from components.text_files import decode, parse_json_lines, read_bytes


class Row(NamedTuple):
    """One example of a task: a text, its label and the second text of a pair."""

    text: str
    label: str
    second_text: str | None = None


def read_table(file: Path, text: str, label: str, second_text: str | None = None) -> list[Row]:
    """The rows of a table, given the names of its columns.

    Raises:
        InputError: the table is missing, empty, not UTF-8, of an unknown kind, lacks a named column, or has a
            row without a text or label.
    """
    columns = (text, label) if second_text is None else (text, label, second_text)
    content = decode(read_bytes(file), file)
    records: Iterable[tuple[str, ...]]
    if file.suffix == ".jsonl":
        records = (tuple(record[name] for name in columns) for record in parse_json_lines(content, file, columns))
    elif file.suffix in (".tsv", ".csv"):
        records = _read_cells(content, file, columns)
    else:
        raise InputError(f"a table must be a .tsv, .csv or .jsonl file, got {file}")
    rows = [_make_row(record, columns, file, number) for number, record in enumerate(records, start=1)]
    if not rows:
        raise InputError(f"the table {file} must hold at least one row, got none")
    return rows


def _read_cells(content: str, file: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    # GLUE's and most other TSV files leave quotes as they are; CSV files quote their fields.
    stream = io.StringIO(content, newline="")
    tabs = file.suffix == ".tsv"
    reader = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE) if tabs else csv.reader(stream, strict=True)
    try:
        header = next(reader, [])
        for column in columns:
            if column not in header:
                raise InputError(f"the table {file} has no column {column!r}{nearest(column, header)}")
        places = [header.index(column) for column in columns]
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                line = reader.line_num
                raise InputError(f"{file} line {line} must have {len(header)} fields, got {len(cells)}")
            yield tuple(cells[place] for place in places)
    except csv.Error as error:
        raise InputError(f"{file} line {reader.line_num} must be valid {file.suffix[1:]}, got {error}") from None


def _make_row(values: tuple[str, ...], columns: tuple[str, ...], file: Path, number: int) -> Row:
    for column, value in zip(columns, values, strict=True):
        if not value.strip():
            raise InputError(f"{file} row {number}: column {column!r} must not be empty")
    return Row(values[0], values[1].strip(), values[2] if len(values) > 2 else None)
