"""Writes rows with their answers: a part of the output for each chunk, and all parts in order as one file."""

import dataclasses
import datetime
import decimal
import io
import json
import math
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from components.answers.columns import arrow_type
from components.dsl.errors import InputError
from components.files.csv_files import csv_line, escape_formula
from components.files.tables import are_lines, parse_lines
from components.files.text_files import is_unicode
from keras_bert.core.folders import replaced_file
from keras_bert.tasks.answer_columns import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

OUTPUT_KINDS = (".parquet", ".csv", ".jsonl")

# Rows and bytes of a row group of Parquet, unless a chunk is larger.
_GROUP_ROWS = 1 << 16
_GROUP_BYTES = 1 << 25


class OutputFormat(NamedTuple):
    """The columns of the output: those of the table, with the `JsonTypes` of JSON lines, and those of the answers."""

    kind: str
    names: list[str]
    json_types: dict[str, str]
    answers: dict[str, ColumnType]

    @property
    def part_suffix(self) -> str:
        """The suffix of parts. The parts of a Parquet file are Arrow files, since a row group may hold many parts."""
        return ".arrow" if self.kind == ".parquet" else self.kind


def write_part(file: Path, rows: "pa.Table", values: Sequence[tuple[Any, ...]], output: OutputFormat) -> None:
    """Writes rows with their answers; the file appears when all of it is written."""
    with replaced_file(file) as temporary:
        if output.kind == ".parquet":
            write_arrow(temporary, add_answers(rows, values, output))
            return
        names, records = [*output.names, *output.answers], parse_lines(rows) if are_lines(rows) else rows.to_pylist()
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            for record, answer in zip(records, values, strict=True):
                record |= dict(zip(output.answers, answer, strict=True))
                is_json = output.kind == ".jsonl"
                line = f"{json_text(record)}\n" if is_json else csv_line(_cell(record.get(name)) for name in names)
                stream.write(line)


def write_arrow(file: Path, table: "pa.Table") -> None:
    """Writes a table as one compressed record batch."""
    from pyarrow import ipc

    with ipc.new_file(str(file), table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table.combine_chunks())


def read_arrow(file: Path) -> "pa.Table":
    """Reads what `write_arrow` wrote."""
    from pyarrow import ipc

    with ipc.open_file(str(file)) as reader:
        return reader.read_all()


def join_parts(parts: Sequence[Path], target: Path, output: OutputFormat) -> None:
    """Writes all parts in order as one file, and waits until it is on the disk."""
    if output.kind == ".parquet":
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        tables, rows, size = list[pa.Table](), 0, 0
        with ParquetWriter(str(target), read_arrow(parts[0]).schema, compression="zstd") as writer:
            for number, part in enumerate(parts, start=1):
                tables.append(read_arrow(part))
                rows, size = rows + tables[-1].num_rows, size + tables[-1].nbytes
                if rows >= _GROUP_ROWS or size >= _GROUP_BYTES or number == len(parts):
                    writer.write_table(pa.concat_tables(tables))
                    tables, rows, size = [], 0, 0
    else:
        with target.open("wb") as stream:
            if output.kind == ".csv":
                stream.write(csv_line(map(escape_formula, [*output.names, *output.answers])).encode())
            for part in parts:
                with part.open("rb") as content:
                    shutil.copyfileobj(content, stream)
    with target.open("rb") as stream:
        os.fsync(stream.fileno())


def add_answers(rows: "pa.Table", values: Sequence[tuple[Any, ...]], output: OutputFormat) -> "pa.Table":
    """The columns of the input, then the columns of the answers."""
    import pyarrow as pa

    table = rows
    if are_lines(rows):
        records, columns = parse_lines(rows), {}
        for name, type_name in output.json_types.items():
            cells = [record.get(name) for record in records]
            if type_name == "json":
                cells = [None if cell is None else json_text(cell) for cell in cells]
            columns[name] = pa.array(cells, pa.string() if type_name == "json" else pa.type_for_alias(type_name))
        table = pa.table(columns)
    for place, (name, column_type) in enumerate(output.answers.items()):
        column = [_as_arrow(answer[place]) for answer in values]
        table = table.append_column(name, pa.array(column, arrow_type(column_type)))
    return table


def check_columns(rows: "pa.Table", kind: str) -> None:
    """Checks that an output can hold rows of the input, by making what it would hold."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    for field, column in zip(rows.schema, rows.columns, strict=True):
        try:
            if kind == ".parquet":
                ParquetWriter(io.BytesIO(), pa.schema([field])).close()
            elif not pa.types.is_string(field.type):
                _plain(column.to_pylist())
        # Times outside of Python's years or below its microseconds, unknown time zones, bytes.
        except (ArithmeticError, LookupError, TypeError, ValueError, pa.ArrowException) as error:
            other = ".jsonl" if kind == ".parquet" else ".parquet"
            raise InputError(
                f"--out must be a {other} file, or the table be without the column {field.name!r}, as a {kind} file "
                f"cannot hold its {field.type}: {error}"
            ) from None


def _as_arrow(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_arrow(item) for item in value]
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


def _cell(value: Any) -> str:
    """A value as a cell: texts, times and numbers as they are, all else as JSON, also halves of characters.

    Null is empty. A cell that a spreadsheet would compute begins with an apostrophe.
    """
    plain = _plain(value)
    if plain is None:
        return ""
    return escape_formula(plain if isinstance(plain, str) and is_unicode(plain) else json_text(plain))


def json_text(value: Any) -> str:
    """A value as a line of JSON; null for a number that is not finite."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)
    # Half a character, which only an escape can hold.
    return text if is_unicode(text) else json.dumps(_plain(value))


def _plain(value: Any) -> Any:
    """A value as JSON has it: times and decimals as text, and null for a number that is not finite."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if hasattr(value, "tolist"):  # an array of NumPy
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta | decimal.Decimal | uuid.UUID):
        return str(value)
    raise TypeError(f"a value of a row must be one that JSON can hold as text, got {type(value).__name__}")
