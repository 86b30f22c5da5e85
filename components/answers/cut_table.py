"""Cuts a table into chunks of rows that can be answered; other rows are written to a file of their own."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from components.answers.columns import JsonTypes
from components.answers.part_files import check_columns, json_text, read_arrow, write_arrow
from components.answers.table_request import TableRequest
from components.answers.work_folder import CHUNKS
from components.dsl.errors import InputError
from components.files.columns import find_columns
from components.files.paths import short_name
from components.files.tables import ABSENT, RowBlock, are_lines, as_text, parse_lines, read_blocks

if TYPE_CHECKING:
    import pyarrow as pa

# Rows and bytes of a chunk, which is answered and written at once; blocks of rows are not divided.
CHUNK_ROWS = 512
CHUNK_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class CutTable:
    """A table that was cut into chunks, with its columns, or the fields of JSON lines and their `JsonTypes`."""

    chunks: int
    rows: int
    bad: int
    characters: int
    names: list[str]
    json_types: dict[str, str]


def cut_table(request: TableRequest, files: Sequence[str], folder: Path, side_file: Path) -> CutTable:
    """Writes chunks of rows into a work folder, and the reasons of all other rows into a side file of JSON lines."""
    cutter = _TableCutter(request, folder)
    with side_file.open("w", encoding="utf-8") as errors:
        for file in files:
            for block in read_blocks(file):
                cutter.add(file, block, errors)
    return cutter.finish()


def chunk_file(folder: Path, number: int) -> Path:
    """The file of a chunk in a work folder."""
    return folder / CHUNKS / f"{number:06d}.arrow"


def read_chunk(folder: Path, number: int) -> "pa.Table":
    """The rows of a chunk, as `RowBlock` has them."""
    return read_arrow(chunk_file(folder, number))


def read_texts(rows: "pa.Table", columns: Sequence[str], *, words: bool = False) -> tuple[list[Any], list[str] | None]:
    """The texts of rows that can be answered, see `texts_of`, and the second ones if there are two columns."""
    texts, *seconds = (
        [text for text, _ in texts_of(column_values(rows, column), column, words=words)] for column in columns
    )
    return texts, seconds[0] if seconds else None


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


class _TableCutter:
    def __init__(self, request: TableRequest, folder: Path) -> None:
        import pyarrow as pa

        self._request, self._folder = request, folder
        self._first, self._schema = "", pa.schema([])
        self._fields, self._unanswered_fields = JsonTypes(), dict[str, None]()
        self._tables = list[pa.Table]()
        self._waiting_rows = self._waiting_bytes = 0
        self._chunks = self._rows = self._bad = self._characters = 0
        self._reason = ""

    def add(self, file: str, block: RowBlock, errors: IO[str]) -> None:
        rows, name = self._with_columns(file, block.rows), short_name(file, self._request.table)
        problems = dict(self._find_problems(rows, block.problems))
        for row, reason in sorted(problems.items()):
            self._reason = self._reason or f"{name} {block.places[row]}: {reason}"
            number = self._rows + self._bad + row + 1
            content = {"row": number, "file": name, "place": block.places[row], "reason": reason}
            errors.write(f"{json_text(content)}\n")
        self._bad += len(problems)
        if are_lines(rows) and not self._rows:
            records = parse_lines(_without(rows, block.problems))
            self._unanswered_fields.update(dict.fromkeys(name for record in records for name in record))
        self._keep(_without(rows, problems))

    def finish(self) -> CutTable:
        if not self._rows:
            if self._unanswered_fields:
                find_columns(self._request.table, self._request.columns, list(self._unanswered_fields))
            rule = "a row that can be answered" if self._bad else "at least one row"
            got = f"{self._bad} others, the first in {self._reason}" if self._bad else "none"
            raise InputError(f"the table {self._request.table} must hold {rule}, got {got}")
        if self._waiting_rows:
            self._write()
        types = self._fields.names()
        names = list(types) or self._schema.names
        return CutTable(self._chunks, self._rows, self._bad, self._characters, names, types)

    def _with_columns(self, file: str, rows: "pa.Table") -> "pa.Table":
        """The rows with the columns and types of the first file, in its order; the types must fit the values."""
        import pyarrow as pa

        if not self._first:
            self._first, self._schema = file, rows.schema
            # Any later line may have the field.
            if not are_lines(rows):
                find_columns(file, self._request.columns, rows.column_names)
        if rows.schema.equals(self._schema, check_metadata=True):
            return rows
        if sorted(rows.column_names) != sorted(self._schema.names):
            columns, others = (", ".join(map(repr, names)) for names in (self._schema.names, rows.column_names))
            raise InputError(f"{file} must have the columns of {self._first}, {columns}, got {others}")
        rows = rows.select(self._schema.names)
        try:
            if pa.unify_schemas([self._schema, rows.schema], promote_options="permissive").equals(self._schema):
                return rows.cast(self._schema)
        except pa.ArrowException:
            pass
        first, other = next((a, b) for a, b in zip(self._schema, rows.schema, strict=True) if a.type != b.type)
        raise InputError(
            f"{file} must have the types of {self._first}, {first.type} in column {first.name!r}, got {other.type}"
        )

    def _find_problems(self, rows: "pa.Table", problems: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        """The rows that cannot be answered, and the first reason of each."""
        yield from problems.items()
        usable = [row for row in range(rows.num_rows) if row not in problems]
        readable = _without(rows, problems)
        for column in reversed(self._request.columns):
            texts = texts_of(column_values(readable, column), column, words=self._request.words)
            for row, (text, problem) in zip(usable, texts, strict=True):
                self._characters += len(text)
                if problem is not None:
                    yield row, problem

    def _keep(self, rows: "pa.Table") -> None:
        check_columns(rows, self._request.out.suffix)
        if are_lines(rows):
            for record in parse_lines(rows):
                self._fields.add(record)
        self._rows += rows.num_rows
        self._tables.append(rows)
        self._waiting_rows, self._waiting_bytes = self._waiting_rows + rows.num_rows, self._waiting_bytes + rows.nbytes
        if self._waiting_rows >= CHUNK_ROWS or self._waiting_bytes >= CHUNK_BYTES:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa

        write_arrow(chunk_file(self._folder, self._chunks), pa.concat_tables(self._tables))
        self._chunks += 1
        self._tables, self._waiting_rows, self._waiting_bytes = [], 0, 0


def _without(rows: "pa.Table", problems: Mapping[int, str]) -> "pa.Table":
    import pyarrow as pa

    return rows.filter(pa.array([row not in problems for row in range(rows.num_rows)])) if problems else rows
