"""Rows with named fields, one at a time: JSON lines, CSV, TSV, Parquet and Arrow, recognized by the extension."""

import csv
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from components.dsl.errors import InputError, nearest
from components.files.arrow_files import read_columns
from components.files.columns import MissingColumnError, find_columns
from components.files.csv_files import ESCAPED_COLUMN, unescape_formula
from components.files.paths import match_files, short_name
from components.files.text_files import COMPRESSIONS, Lines, extension, repair

JSON_LINES = (".jsonl", ".ndjson")
RECORD_KINDS = (*JSON_LINES, ".csv", ".tsv", ".parquet", ".arrow")

_NO_HEADER = "; is the header missing? The first line was read as the names of the columns"
_FASTTEXT = "; write the lines of fastText as a table with columns of texts and labels"
# A quoted cell with at least one quote in it.
_DOUBLED = re.compile(r'"(?=.*"".*")([^"]|"")+"', re.DOTALL)
# The value of an optional field that a file, or a JSON line, does not have. (A field that is null has the value None.)
ABSENT = object()
# In characters. Without a limit, a quote that is never closed would read the whole file into memory.
_LONGEST_CELL = 1 << 28


class Record(NamedTuple):
    """One row.

    Attributes:
        place: `line 3` of a text file, where the row starts; `row 3`, from 1, of a Parquet or Arrow file.
        values: the values of the requested fields: strings for CSV and TSV, the types of JSON for JSON lines, and those
            of the file for Parquet and Arrow, with strings as bytes.
        problem: what could not be decoded in the row's lines, see `Lines.take_problem`; None if there is nothing.
        cells: all fields of the row by their names; empty without `has_cells` of `read_records`.
        classes: likewise the names of the classes of columns that have some (`ClassLabel`).
    """

    file: str
    place: str
    values: tuple[Any, ...]
    problem: str | None
    cells: Mapping[str, Any] = {}
    classes: Mapping[str, Sequence[str]] = {}

    @property
    def where(self) -> str:
        """The start of an error message about this row."""
        return f"{self.file} {self.place}"

    def name_in(self, path: str) -> str:
        """The place of this row in the files that a path matches, as `reviews.csv line 3`."""
        return f"{short_name(self.file, path)} {self.place}"


def is_record_file(file: str) -> bool:
    """Whether a file's name is one of `RECORD_KINDS`; of these, only text files may be compressed."""
    kind = extension(file)
    return kind in RECORD_KINDS and not (kind in (".parquet", ".arrow") and file.lower().endswith(COMPRESSIONS))


def read_records(
    file: str,
    fields: tuple[str, ...],
    *,
    strict: bool = True,
    has_cells: bool = False,
    optional: tuple[str, ...] = (),
) -> Iterator[Record]:
    """The rows of a file, empty lines left out, in constant memory; the file is opened once.

    Bytes that are not UTF-8 are an error if `strict`, otherwise a problem of the record. With `has_cells`, records have
    all fields, except columns of a text file that share their name. Those of `fields` that are also `optional` have the
    value `ABSENT` where the file, or the JSON line, does not have them.

    Raises:
        InputError: the file is missing, broken, of another kind, or lacks a field; a row is malformed.
    """
    kind = extension(file)
    if not is_record_file(file):
        raise InputError(f"a file of rows must be {', '.join(RECORD_KINDS)}, got {file}; name a table .csv or .tsv")
    required = tuple(field for field in fields if field not in optional)
    if kind in (".parquet", ".arrow"):
        has_names = has_cells or required != fields
        for row, values in enumerate(read_columns(file, required, others=has_names), start=1):
            if has_names:
                cells, classes = values
                chosen = tuple([cells.get(field, ABSENT) for field in fields])
                yield Record(file, f"row {row}", chosen, None, cells, classes)
            else:
                yield Record(file, f"row {row}", values, None)
        return
    lines = Lines(file, strict=strict)
    if kind in JSON_LINES:
        for place, line, problem in read_lines(lines):
            values = parse_object(line, f"{file} {place}")
            for field in required:
                if field not in values:
                    hint = nearest(field, values)
                    raise MissingColumnError(f"{file} {place} has no field {field!r}{hint}", field)
            yield Record(file, place, tuple([values.get(field, ABSENT) for field in fields]), problem, values)
        return
    rows = read_cells(lines, tabs=kind == ".tsv")
    _, header, _ = next(rows)
    present = [field for field in fields if field in header or field in required]
    advice = _FASTTEXT if header[0].startswith("__label__") else _NO_HEADER
    columns: list[int | None] = [*find_columns(file, present, header, advice)]
    columns = [columns[present.index(field)] if field in present else None for field in fields]
    others = {name: column for column, name in enumerate(header) if header.count(name) == 1} if has_cells else {}
    for place, cells, problem in rows:
        if len(cells) != len(header):
            raise InputError(f"{file} {place} must have {len(header)} fields, got {len(cells)}")
        values = {name: cells[column] for name, column in others.items()}
        chosen = tuple([ABSENT if column is None else cells[column] for column in columns])
        yield Record(file, place, chosen, problem, values)


def read_table(
    path: str, fields: tuple[str, ...], *, has_cells: bool = False, optional: tuple[str, ...] = ()
) -> Iterator[Record]:
    """The rows of all files that a path matches, see `read_records`."""
    is_empty = True
    for file in match_files(path, RECORD_KINDS, what="the table"):
        for record in read_records(file, fields, has_cells=has_cells, optional=optional):
            yield record
            is_empty = False
    if is_empty:
        raise InputError(f"the table {path} must hold at least one row, got none")


def as_text(value: Any, where: str, field: str, *, is_filled: bool = False, problems: list[str] | None = None) -> str:
    """A value as a string.

    `where` is the start of error messages. With `is_filled`, a blank value is an error. With `problems`, a value that
    is not valid Unicode is repaired, and a description of the problem is appended to the list.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise InputError(f"{where}: field {field!r} must be text, got {value}; fill it in or leave the row out")
    if not isinstance(value, str | bytes | int | float):
        raise InputError(f"{where}: field {field!r} must be text, got {str(value)[:40]}")
    text, problem = repair(value if isinstance(value, str | bytes) else str(value))
    if problem and problems is None:
        raise InputError(f"{where}: field {field!r} must be valid Unicode, got {problem}")
    if problem and problems is not None:
        problems.append(problem)
    if is_filled and not text.strip():
        raise InputError(f"{where}: column {field!r} must not be empty")
    return text


def parse_json(text: str, where: str) -> Any:
    """A JSON value."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        # Not only JSONDecodeError: a number of 5000 digits is a plain ValueError.
        raise InputError(f"{where} must be a JSON object, got an error: {getattr(error, 'msg', error)}") from None


def parse_object(line: str, where: str) -> dict[str, Any]:
    """The JSON object of a line; raises InputError if it is none."""
    is_array = line.lstrip().startswith("[")
    value = None if is_array else parse_json(line, where)
    if not isinstance(value, dict):
        hint = "; write each object of a JSON array to a line of its own" if is_array else ""
        raise InputError(f"{where} must be a JSON object, got {line.strip()[:40]}{hint}")
    return value


def read_lines(lines: Lines) -> Iterator[tuple[str, str, str | None]]:
    """The lines of a file that are not blank: the place of each, the line, and what could not be decoded in it."""
    for line in lines:
        problem = lines.take_problem()
        if line.strip():
            yield f"line {lines.number}", line, problem


def read_cells(lines: Lines, *, tabs: bool) -> Iterator[tuple[str, list[str], str | None]]:
    """The rows of a CSV or TSV file: the place of each, its cells, and what could not be decoded in its lines.

    The first row has the names of the columns. With `tabs`, tabs separate the cells, and quotes have no meaning, except
    around a cell in which all quotes are doubled, as pandas writes it. Otherwise commas separate the cells, or
    semicolons if the first line has semicolons but no comma.
    """
    csv.field_size_limit(_LONGEST_CELL)
    first = list(itertools.islice(lines, 1))
    ended = (line + lines.end for line in itertools.chain(first, lines))
    # Spreadsheets write semicolons where numbers have decimal commas.
    mark = ";" if any(";" in line and "," not in line for line in first) else ","
    # GLUE's and most other TSV files leave quotes as they are; CSV files quote their fields.
    reader = (
        csv.reader(ended, delimiter="\t", quoting=csv.QUOTE_NONE)
        if tabs
        else csv.reader(ended, delimiter=mark, strict=True)
    )
    header: list[str] | None = None
    while True:
        # Where a row starts: a quote that is never closed is found at the end of the file, or at the limit.
        start = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            kind = "tsv" if tabs else "csv"
            raise InputError(f"{lines.file} line {start} must be valid {kind}, got {error}") from None
        if header is None:
            if cells and len(cells) == 1 and "\t" in cells[0]:
                raise InputError(f"the table {lines.file} must have commas or semicolons, got tabs; name it .tsv")
            if not cells:
                got = "an empty file" if cells is None else "an empty line"
                raise InputError(f"the table {lines.file} must begin with a line of column names, got {got}")
            header = cells
        if cells is None:
            return
        problem = lines.take_problem()
        if cells:
            if tabs:
                cells = [cell[1:-1].replace('""', '"') if _DOUBLED.fullmatch(cell) else cell for cell in cells]
            yield f"line {start}", list(map(unescape_formula, cells)) if ESCAPED_COLUMN in header else cells, problem
