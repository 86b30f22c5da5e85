"""Rows with named fields, one at a time: JSON lines, CSV, TSV, Parquet and Arrow, recognized by the extension."""

import csv
import itertools
import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from components.dsl.errors import InputError, nearest
from components.files.arrow_files import read_columns
from components.files.columns import find_columns
from components.files.csv_files import ESCAPED_COLUMN, unescape_formula
from components.files.text_files import COMPRESSIONS, Lines, extension, repair

JSON_LINES = (".jsonl", ".ndjson")
RECORD_KINDS = (*JSON_LINES, ".csv", ".tsv", ".parquet", ".arrow")

_NO_HEADER = "; is the header missing? The first line was read as the names of the columns"
# In characters. Without a limit a quote that is never closed would bring a whole file into memory.
_LONGEST_CELL = 1 << 28


class Record(NamedTuple):
    """One row.

    Attributes:
        file: where it stands.
        place: `line 3` of a text file, where the row starts; `row 3`, from 1, of a Parquet or Arrow file.
        values: of the requested fields: strings in CSV and TSV, else what the file holds, strings of
            Parquet and Arrow as bytes.
        problem: what could not be decoded in the row's lines, see `Lines.take_problem`.
    """

    file: str
    place: str
    values: tuple[Any, ...]
    problem: str | None

    @property
    def where(self) -> str:
        """The start of an error message about this row."""
        return f"{self.file} {self.place}"


def is_record_file(file: str) -> bool:
    """Whether a file's name is one of `RECORD_KINDS`; of these, text files alone may be compressed."""
    kind = extension(file)
    return kind in RECORD_KINDS and not (kind in (".parquet", ".arrow") and file.lower().endswith(COMPRESSIONS))


def read_records(file: str, fields: tuple[str, ...], *, strict: bool = True) -> Iterator[Record]:
    """The rows of a file, empty lines left out, in constant memory.

    Args:
        file: of one of `RECORD_KINDS`; a text file may be compressed.
        fields: the names of the fields or columns to read.
        strict: whether bytes that are not UTF-8 are an error.

    Raises:
        InputError: the file is missing, broken, of another kind, or lacks a field; a row is malformed.
    """
    kind = extension(file)
    if not is_record_file(file):
        raise InputError(f"a file of rows must be {', '.join(RECORD_KINDS)}, got {file}")
    if kind in (".parquet", ".arrow"):
        for row, values in enumerate(read_columns(file, fields), start=1):
            yield Record(file, f"row {row}", values, None)
    elif kind in JSON_LINES:
        yield from _read_json_lines(Lines(file, strict=strict), fields)
    else:
        yield from _read_cells(Lines(file, strict=strict), fields, tabs=kind == ".tsv")


def as_text(value: Any, where: str, field: str) -> str:
    """A value as a string.

    Raises:
        InputError: it is missing, neither text nor a number, or not valid Unicode.
    """
    text, problem = as_any_text(value, where, field)
    if problem:
        raise InputError(f"{where}: field {field!r} must be valid Unicode, got {problem}")
    return text


def as_any_text(value: Any, where: str, field: str) -> tuple[str, str | None]:
    """A value as a string, and what was wrong with it, see `repair`.

    Raises:
        InputError: it is missing (null, or the NaN that pandas writes in its place), or neither text nor a number.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise InputError(f"{where}: field {field!r} must be text, got {value}; fill it in or leave the row out")
    if not isinstance(value, str | bytes | int | float):
        raise InputError(f"{where}: field {field!r} must be text, got {str(value)[:40]}")
    return repair(value if isinstance(value, str | bytes) else str(value))


def parse_json(text: str, where: str) -> Any:
    """A JSON value.

    Raises:
        InputError: it is none, or nested too deeply.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        # Not only JSONDecodeError: a number of 5000 digits is a plain ValueError.
        raise InputError(f"{where} must be a JSON object, got an error: {getattr(error, 'msg', error)}") from None


def _read_json_lines(lines: Lines, fields: tuple[str, ...]) -> Iterator[Record]:
    for line in lines:
        problem = lines.take_problem()
        if not line.strip():
            continue
        place = f"line {lines.number}"
        where = f"{lines.file} {place}"
        record = parse_json(line, where)
        if not isinstance(record, dict):
            raise InputError(f"{where} must be a JSON object, got {line.strip()[:40]}")
        for field in fields:
            if field not in record:
                raise InputError(f"{where} has no field {field!r}{nearest(field, record)}")
        yield Record(lines.file, place, tuple(record[field] for field in fields), problem)


def _read_cells(lines: Lines, fields: tuple[str, ...], *, tabs: bool) -> Iterator[Record]:
    rows = CellRows(lines, tabs=tabs)
    places = find_columns(lines.file, fields, rows.header, _NO_HEADER)
    for place, cells, problem in rows:
        if len(cells) != len(rows.header):
            raise InputError(f"{lines.file} {place} must have {len(rows.header)} fields, got {len(cells)}")
        yield Record(lines.file, place, tuple(cells[column] for column in places), problem)


class CellRows:
    """The rows of a CSV or TSV file after its header: the place of each, its cells, and the problem of its lines.

    Args:
        lines: the lines of the file; `Lines.take_problem` gives the problems.
        tabs: whether tabs separate the cells, without quotes; else commas do, or semicolons where the first line has
            some and no comma.

    Attributes:
        header: the names of the columns.

    Raises:
        InputError: the file is empty, or not valid CSV; also while it is read.
    """

    def __init__(self, lines: Lines, *, tabs: bool) -> None:
        csv.field_size_limit(_LONGEST_CELL)
        self._lines, self._kind = lines, "tsv" if tabs else "csv"
        # GLUE's and most other TSV files leave quotes as they are; CSV files quote their fields.
        first = list(itertools.islice(lines, 1))
        ended = (line + lines.end for line in itertools.chain(first, lines))
        # Spreadsheets write semicolons where numbers have decimal commas.
        mark = ";" if any(";" in line and "," not in line for line in first) else ","
        self._reader = (
            csv.reader(ended, delimiter="\t", quoting=csv.QUOTE_NONE)
            if tabs
            else csv.reader(ended, delimiter=mark, strict=True)
        )
        # Where a row starts: a quote that is never closed is found at the end of the file, or at the limit.
        self._start = 1
        header = self._next_cells()
        if not header:
            got = "an empty file" if header is None else "an empty line"
            raise InputError(f"the table {lines.file} must begin with a line of column names, got {got}")
        self._is_escaped = ESCAPED_COLUMN in header
        self.header = self._unescape(header)

    def __iter__(self) -> Iterator[tuple[str, list[str], str | None]]:
        self._start = self._reader.line_num + 1
        while (cells := self._next_cells()) is not None:
            place, self._start = f"line {self._start}", self._reader.line_num + 1
            problem = self._lines.take_problem()
            if cells:
                yield place, self._unescape(cells), problem

    def _unescape(self, cells: list[str]) -> list[str]:
        return list(map(unescape_formula, cells)) if self._is_escaped else cells

    def _next_cells(self) -> list[str] | None:
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise InputError(f"{self._lines.file} line {self._start} must be valid {self._kind}, got {error}") from None
