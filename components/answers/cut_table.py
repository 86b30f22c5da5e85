"""Cuts a table into chunks of rows that can be answered, and sets the other rows aside."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from components.answers.chunks import CutTable, chunk_file
from components.answers.columns import JsonTypes
from components.answers.part_files import check_columns, json_text, write_arrow
from components.answers.row_blocks import RowBlock, are_lines, column_values, parse_lines, read_blocks, texts_of
from components.dsl.errors import InputError
from components.files.columns import find_columns
from components.files.paths import short_name

if TYPE_CHECKING:
    import pyarrow as pa

# Rows and bytes of a chunk, which is answered and written at once; blocks of rows are not divided.
CHUNK_ROWS = 512
CHUNK_BYTES = 1 << 20


def cut_table(
    table: str,
    files: Sequence[str],
    columns: Sequence[str],
    folder: Path,
    side_file: Path,
    kind: str,
    *,
    words: bool = False,
) -> CutTable:
    """Writes chunks of rows into a work folder, and the reasons of all other rows into a side file.

    `side_file` gets a line of JSON for each row that cannot be answered. `kind` is that of the output, see
    `check_columns`; with `words` a text may be a list of words.

    Raises:
        InputError: a file cannot be read, or has other columns than the first one; no row has a column of `columns`;
            there is no row, or none that can be answered; or the output cannot hold a column.
    """
    cutter = TableCutter(folder, columns, kind, words=words)
    with side_file.open("w", encoding="utf-8") as errors:
        for file in files:
            for block in read_blocks(file):
                cutter.add(file, block, short_name(file, table), errors)
    return cutter.finish(table)


class TableCutter:
    """Collects the rows of blocks into chunks.

    Args:
        folder: the work folder.
        columns: the columns of the texts.
        kind: the kind of the output.
        words: whether a text may be a list of words.
    """

    def __init__(self, folder: Path, columns: Sequence[str], kind: str, *, words: bool = False) -> None:
        import pyarrow as pa

        self._folder, self._columns, self._kind, self._words = folder, tuple(columns), kind, words
        self._first, self._schema = "", pa.schema([])
        self._fields, self._unanswered_fields = JsonTypes(), dict[str, None]()
        self._tables = list[pa.Table]()
        self._waiting_rows = self._waiting_bytes = 0
        self._chunks = self._rows = self._bad = self._characters = 0
        self._reason = ""

    def add(self, file: str, block: RowBlock, name: str, errors: IO[str]) -> None:
        """Adds the rows of a block.

        The side file names the file of the block by `name`.
        """
        rows = self._with_columns(file, block)
        problems = dict(self._find_problems(rows, block.problems))
        for row, reason in sorted(problems.items()):
            self._reason = self._reason or f"{name} {block.places[row]}: {reason}"
            number = self._rows + self._bad + row + 1
            content = {"row": number, "file": name, "place": block.places[row], "reason": reason}
            errors.write(f"{json_text(content)}\n")
        self._bad += len(problems)
        if are_lines(rows) and not self._rows:
            self._unanswered_fields.update(_field_names(_without(rows, block.problems)))
        self._keep(_without(rows, problems))

    def finish(self, table: str) -> CutTable:
        """Writes the last chunk.

        Raises:
            InputError: there was no row, or none that can be answered.
        """
        if not self._rows:
            if self._unanswered_fields:
                find_columns(table, self._columns, list(self._unanswered_fields))
            rule = "a row that can be answered" if self._bad else "at least one row"
            got = f"{self._bad} others, the first in {self._reason}" if self._bad else "none"
            raise InputError(f"the table {table} must hold {rule}, got {got}")
        if self._waiting_rows:
            self._write()
        types = self._fields.names()
        return CutTable(
            chunks=self._chunks,
            rows=self._rows,
            bad=self._bad,
            characters=self._characters,
            names=list(types) or self._schema.names,
            json_types=types,
        )

    def _with_columns(self, file: str, block: RowBlock) -> "pa.Table":
        """The rows of a block with the columns of the first file, in their order.

        Raises:
            InputError: it has not these columns, or a column of texts is missing.
        """
        rows = block.rows
        if not self._first:
            self._first, self._schema = file, rows.schema
            # Any later line may have the field.
            if not are_lines(rows):
                find_columns(file, self._columns, rows.column_names)
        if rows.schema.equals(self._schema, check_metadata=True):
            return rows
        if sorted(rows.column_names) != sorted(self._schema.names):
            columns, others = (", ".join(map(repr, names)) for names in (self._schema.names, rows.column_names))
            raise InputError(f"{file} must have the columns of {self._first}, {columns}, got {others}")
        return _cast(rows.select(self._schema.names), self._schema, f"{file} must have the types of {self._first}")

    def _find_problems(self, rows: "pa.Table", problems: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        """The rows that cannot be answered, and the first reason of each."""
        yield from problems.items()
        usable = [row for row in range(rows.num_rows) if row not in problems]
        readable = _without(rows, problems)
        for column in reversed(self._columns):
            texts = texts_of(column_values(readable, column), column, words=self._words)
            for row, (text, problem) in zip(usable, texts, strict=True):
                self._characters += len(text)
                if problem is not None:
                    yield row, problem

    def _keep(self, rows: "pa.Table") -> None:
        """Adds rows that can be answered, and writes a chunk if there are enough."""
        check_columns(rows, self._kind)
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


def _field_names(rows: "pa.Table") -> dict[str, None]:
    """The names of all fields of JSON lines, in the order in which they come."""
    return dict.fromkeys(name for record in parse_lines(rows) for name in record)


def _without(rows: "pa.Table", problems: Mapping[int, str]) -> "pa.Table":
    """The rows without those that have a problem."""
    import pyarrow as pa

    return rows.filter(pa.array([row not in problems for row in range(rows.num_rows)])) if problems else rows


def _cast(rows: "pa.Table", schema: "pa.Schema", rule: str) -> "pa.Table":
    """Rows of a later file in the types of the first one, where these hold all values of the others.

    Raises:
        InputError: they do not; `rule` is the start of the message.
    """
    import pyarrow as pa

    try:
        if pa.unify_schemas([schema, rows.schema], promote_options="permissive").equals(schema):
            return rows.cast(schema)
    except pa.ArrowException:
        pass
    first, other = next((a, b) for a, b in zip(schema, rows.schema, strict=True) if a.type != b.type)
    raise InputError(f"{rule}, {first.type} in column {first.name!r}, got {other.type}")
