"""Reads whole rows of tables, with all their columns; a row that cannot be used comes with the reason."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.dsl.errors import InputError
from components.files.arrow_files import read_batches
from components.files.columns import find_columns
from components.files.record_files import ABSENT, JSON_LINES, as_text, parse_object, read_cells, read_lines
from components.files.text_files import Lines, extension

if TYPE_CHECKING:
    import pyarrow as pa

# Rows of JSON lines may have different fields. Their table has a single column with the lines, and these metadata.
_LINE = "line"
_JSON_LINES = {b"rows": b"JSON lines"}

# Rows and bytes of a block; one row may be longer.
_BLOCK_ROWS = 256
_BLOCK_BYTES = 1 << 20

# Deeper values cannot be written, because Python limits recursion.
_DEEPEST = 100


class RowBlock(NamedTuple):
    """Consecutive rows of a table.

    Attributes:
        rows: all columns; of JSON lines one column with the lines, see `are_lines`.
        places: the place of each row, as `line 3` or `row 3`.
        problems: the reason why a row cannot be used, by the row's index in the block.
    """

    rows: "pa.Table"
    places: list[str]
    problems: dict[int, str]


def read_blocks(file: str) -> Iterator[RowBlock]:
    """The rows of a table in order, empty lines left out, in memory that does not depend on their number.

    A row with bytes that are not UTF-8, with too many or too few cells, or that is not a JSON object has a problem.

    Raises:
        InputError: the file is missing, broken as a whole, or has two columns of one name.
    """
    if extension(file) in JSON_LINES:
        return _read_lines(Lines(file, strict=False))
    if extension(file) in (".csv", ".tsv"):
        return _read_cells(Lines(file, strict=False), tabs=extension(file) == ".tsv")
    return _read_arrow(file)


def are_lines(rows: "pa.Table") -> bool:
    """Whether rows are JSON lines."""
    return rows.schema.metadata == _JSON_LINES


def parse_lines(rows: "pa.Table") -> list[dict[str, Any]]:
    """The JSON objects of rows of JSON lines."""
    return [json.loads(line) for line in rows[_LINE].to_pylist()]


def column_values(rows: "pa.Table", column: str) -> list[Any]:
    """The values of a column, or of a field of JSON lines: `ABSENT` for a line without the field."""
    if not are_lines(rows):
        return list(rows[column].to_pylist())
    return [record.get(column, ABSENT) for record in parse_lines(rows)]


def texts_of(values: Sequence[Any], column: str, *, words: bool = False) -> Iterator[tuple[Any, str | None]]:
    """Each value as a text, with the reason if it cannot be used as one, else None.

    Numbers become texts. Null, blank texts, lists and lone surrogates cannot be used. With `words` a list of texts can.
    """
    for value in values:
        if value is ABSENT:
            yield "", f"field {column!r} must be there, got none"
            continue
        try:
            parts = [as_text(word, "", column) for word in (value if words and isinstance(value, list) else [value])]
        except InputError as error:
            yield "", str(error).removeprefix(": ")
            continue
        problem = None if parts and all(map(str.strip, parts)) else f"field {column!r} must not be empty"
        yield parts if words and isinstance(value, list) else parts[0], problem


def _read_lines(lines: Lines) -> Iterator[RowBlock]:
    rows = ((place, [line], problem or _find_problem(line)) for place, line, problem in read_lines(lines))
    for block in _collect(rows, [_LINE]):
        yield block._replace(rows=block.rows.replace_schema_metadata(_JSON_LINES))


def _find_problem(line: str) -> str | None:
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


def _read_cells(lines: Lines, *, tabs: bool) -> Iterator[RowBlock]:
    rows = read_cells(lines, tabs=tabs)
    _, header, problem = next(rows)
    if problem is not None:
        raise InputError(f"{lines.file} line 1 must be UTF-8, got {problem}")
    find_columns(lines.file, tuple(header), header)
    width = len(header)

    def checked() -> Iterator[tuple[str, list[str], str | None]]:
        for place, cells, problem in rows:
            wrong = None if len(cells) == width else f"a row must have {width} fields, got {len(cells)}"
            yield place, (cells + [""] * width)[:width], problem or wrong

    yield from _collect(checked(), header)


def _collect(rows: Iterator[tuple[str, list[str], str | None]], names: list[str]) -> Iterator[RowBlock]:
    """Rows of strings with their places and problems -> blocks."""
    places, values, problems, size = list[str](), list[list[str]](), dict[int, str](), 0
    for place, cells, problem in rows:
        if problem is not None:
            problems[len(places)] = problem
        places.append(place)
        values.append(cells)
        size += sum(map(len, cells))
        if len(places) == _BLOCK_ROWS or size >= _BLOCK_BYTES:
            yield RowBlock(_string_table(values, names), places, problems)
            places, values, problems, size = [], [], {}, 0
    if places:
        yield RowBlock(_string_table(values, names), places, problems)


def _string_table(values: list[list[str]], names: list[str]) -> "pa.Table":
    import pyarrow as pa

    return pa.table([pa.array(column, pa.string()) for column in zip(*values, strict=True)], names)


def _read_arrow(file: str) -> Iterator[RowBlock]:
    import pyarrow as pa

    row = 0
    for batch in read_batches(file):
        for start in range(0, batch.num_rows, _BLOCK_ROWS):
            part = batch.slice(start, _BLOCK_ROWS)
            # The metadata of the schema only describes the columns of the input.
            table = pa.table([_plain_column(column) for column in part.columns], names=part.schema.names)
            places = [f"row {row + number}" for number in range(1, part.num_rows + 1)]
            row += part.num_rows
            yield RowBlock(table, places, dict(_undecodable(table)))


def _plain_column(column: "pa.Array") -> "pa.Array":
    """A column converted to a type whose rows can be selected and written."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    if pa.types.is_run_end_encoded(column.type):
        return compute.run_end_decode(column)
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(column.type)
    return column if plain is None else column.cast(plain)


def _undecodable(table: "pa.Table") -> Iterator[tuple[int, str]]:
    """The rows in which a string is not UTF-8, which Parquet and Arrow do not check, each with the reason."""
    import pyarrow as pa

    for name in reversed(table.column_names):
        if not _is_valid(table[name]):
            for row in range(table.num_rows):
                # A slice would be validated with the values around it.
                if not _is_valid(table[name].take(pa.array([row]))):
                    yield row, f"field {name!r} must be UTF-8, got other bytes"


def _is_valid(column: "pa.ChunkedArray") -> bool:
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
