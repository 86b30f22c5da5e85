"""The reader of tables: JSON lines, CSV, TSV, Parquet and Arrow, by the extension; each row with its file and line.

Rows come as records with named fields, or as blocks of whole rows. Text is parsed here, since pyarrow does not tell in
which line a row starts, takes a stray quote for text, and refuses JSON lines whose fields have several types.
"""

import csv
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.dsl.errors import InputError, nearest
from components.files.arrow_files import read_columns, read_plain_tables
from components.files.columns import MissingColumnError, find_columns
from components.files.csv_files import ESCAPED_COLUMN, unescape_formula
from components.files.paths import match_files, short_name
from components.files.text_files import COMPRESSIONS, Lines, extension, repair

if TYPE_CHECKING:
    import pyarrow as pa

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
# Rows of JSON lines may have different fields. Their table has a single column with the lines, and these metadata.
_LINE = "line"
_LINES_METADATA = {b"rows": b"JSON lines"}
# Rows and bytes of a block; one row may be longer.
_BLOCK_ROWS = 256
_BLOCK_BYTES = 1 << 20
# Deeper values cannot be written, because Python limits recursion.
_DEEPEST = 100


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


class RowBlock(NamedTuple):
    """Consecutive whole rows of a table; of JSON lines one column with the lines, see `are_lines`.

    `problems` are the reasons why rows cannot be used, by the row's index in the block.
    """

    rows: "pa.Table"
    places: list[str]
    problems: dict[int, str]


def is_record_file(file: str) -> bool:
    """Whether a file's name is one of `RECORD_KINDS`; of these, only text files may be compressed."""
    kind = extension(file)
    return kind in RECORD_KINDS and not (kind in (".parquet", ".arrow") and file.lower().endswith(COMPRESSIONS))


def read_records(
    file: str, fields: tuple[str, ...], *, strict: bool = True, has_cells: bool = False, optional: tuple[str, ...] = ()
) -> Iterator[Record]:
    """The rows of a file, empty lines left out, in constant memory; the file is opened once.

    Bytes that are not UTF-8 are an error if `strict`, otherwise a problem of the record. With `has_cells`, records have
    all fields, except columns of a text file that share their name. Those of `fields` that are also `optional` have the
    value `ABSENT` where the file, or the JSON line, does not have them.
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
    header, _, rows = _read_text(file, strict=strict)
    if header is None:
        for place, (line,), problem in rows:
            values = parse_object(line, f"{file} {place}")
            for field in required:
                if field not in values:
                    hint = nearest(field, values)
                    raise MissingColumnError(f"{file} {place} has no field {field!r}{hint}", field)
            yield Record(file, place, tuple([values.get(field, ABSENT) for field in fields]), problem, values)
        return
    present = [field for field in fields if field in header or field in required]
    advice = _FASTTEXT if header[0].startswith("__label__") else _NO_HEADER
    columns = dict(zip(present, find_columns(file, present, header, advice), strict=True))
    others = {name: column for column, name in enumerate(header) if header.count(name) == 1} if has_cells else {}
    for place, cells, problem in rows:
        if len(cells) != len(header):
            raise InputError(f"{file} {place} must have {len(header)} fields, got {len(cells)}")
        values = {name: cells[column] for name, column in others.items()}
        chosen = tuple([cells[columns[field]] if field in columns else ABSENT for field in fields])
        yield Record(file, place, chosen, problem, values)


def read_blocks(file: str) -> Iterator[RowBlock]:
    """The whole rows of a table in order, empty lines left out, in memory that does not depend on their number.

    A row with bytes that are not UTF-8, with too many or too few cells, or that is not a JSON object has a problem.
    """
    if extension(file) in (".parquet", ".arrow"):
        row = 0
        for table, problems in read_plain_tables(file, _BLOCK_ROWS):
            yield RowBlock(table, [f"row {row + number}" for number in range(1, table.num_rows + 1)], problems)
            row += table.num_rows
        return
    header, undecodable_names, rows = _read_text(file, strict=False)
    if undecodable_names is not None:
        raise InputError(f"{file} line 1 must be UTF-8, got {undecodable_names}")
    if header is not None:
        find_columns(file, tuple(header), header)
    names, places, block, problems, size = header or [_LINE], list[str](), list[list[str]](), dict[int, str](), 0
    for place, cells, undecodable in rows:
        problem = undecodable or _find_problem(cells, header)
        if problem is not None:
            problems[len(places)] = problem
        places.append(place)
        block.append((cells + [""] * len(names))[: len(names)])
        size += sum(map(len, block[-1]))
        if len(places) == _BLOCK_ROWS or size >= _BLOCK_BYTES:
            yield RowBlock(_string_table(block, names, has_lines=header is None), places, problems)
            places, block, problems, size = [], [], {}, 0
    if places:
        yield RowBlock(_string_table(block, names, has_lines=header is None), places, problems)


def are_lines(rows: "pa.Table") -> bool:
    """Whether rows of a block are JSON lines."""
    return rows.schema.metadata == _LINES_METADATA


def parse_lines(rows: "pa.Table") -> list[dict[str, Any]]:
    """The JSON objects of rows of JSON lines."""
    return [json.loads(line) for line in rows[_LINE].to_pylist()]


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


def _read_text(
    file: str, *, strict: bool
) -> tuple[list[str] | None, str | None, Iterator[tuple[str, list[str], str | None]]]:
    """The names of the columns, None for JSON lines; what could not be decoded in them; and the rows, but blank ones.

    A row is its place, its cells or its line, and what could not be decoded in its lines.
    """
    lines = Lines(file, strict=strict)
    if extension(file) not in JSON_LINES:
        rows = _read_cells(lines, tabs=extension(file) == ".tsv")
        _, header, problem = next(rows)
        return header, problem, rows
    with_problems = ((f"line {lines.number}", line, lines.take_problem()) for line in lines)
    return None, None, ((place, [line], problem) for place, line, problem in with_problems if line.strip())


def _find_problem(cells: list[str], header: list[str] | None) -> str | None:
    """Why a row cannot be used; None if it can."""
    if header is not None:
        return None if len(cells) == len(header) else f"a row must have {len(header)} fields, got {len(cells)}"
    (line,) = cells
    try:
        value = parse_object(line, "the line")
    except InputError as error:
        return str(error)
    is_deep = line.count("[") + line.count("{") > _DEEPEST and _is_nested(value, _DEEPEST)
    return f"the line must have at most {_DEEPEST} lists and objects inside each other, got more" if is_deep else None


def _is_nested(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_nested(item, levels - 1) for item in items)


def _string_table(rows: list[list[str]], names: list[str], *, has_lines: bool) -> "pa.Table":
    import pyarrow as pa

    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.table(columns, names, metadata=_LINES_METADATA if has_lines else None)


def _read_cells(lines: Lines, *, tabs: bool) -> Iterator[tuple[str, list[str], str | None]]:
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
