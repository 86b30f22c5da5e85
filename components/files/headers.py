"""The names of a table's columns, read from the file itself."""

import itertools
from collections.abc import Collection, Iterator
from typing import Any

from components.files.arrow_files import read_batches
from components.files.record_files import JSON_LINES, CellRows, parse_json, read_records
from components.files.text_files import Lines, extension

# JSON lines have no header: the fields of the first rows stand for those of all.
_FIRST_ROWS = 1000


def has_column(file: str, names: Collection[str]) -> bool:
    """Whether a file of rows has one of some columns; of JSON lines, whether a row has such a field.

    Raises:
        InputError: see `read_header`.
    """
    if extension(file) not in JSON_LINES:
        return not set(names).isdisjoint(read_header(file))
    lines = Lines(file)
    rows = (parse_json(line, f"{file} line {lines.number}") for line in lines if line.strip())
    return any(isinstance(row, dict) and any(name in row for name in names) for row in rows)


def read_header(file: str) -> tuple[str, ...]:
    """The columns of a file of rows, in its order; of JSON lines, the fields that each of the first 1,000 rows has.

    Args:
        file: of one of `components.files.record_files.RECORD_KINDS`.

    Raises:
        InputError: the file is missing, broken or without a header; none for a file of JSON lines without rows, which
            has no columns.
    """
    kind = extension(file)
    if kind in (".parquet", ".arrow"):
        batch = next(iter(read_batches(file)), None)
        return () if batch is None else tuple(batch.schema.names)
    lines = Lines(file)
    if kind not in JSON_LINES:
        return tuple(CellRows(lines, tabs=kind == ".tsv").header)
    rows = (parse_json(line, f"{file} line {lines.number}") for line in lines if line.strip())
    fields = [list(row) if isinstance(row, dict) else [] for row in itertools.islice(rows, _FIRST_ROWS)]
    return tuple(name for name in fields[0] if all(name in row for row in fields)) if fields else ()


def read_rows(file: str) -> Iterator[dict[str, Any]]:
    """All fields of each row of a file, empty lines left out, but for columns whose name another column has.

    Raises:
        InputError: see `read_records`; JSON lines need not have the same fields.
    """
    if extension(file) in JSON_LINES:
        lines = Lines(file)
        yield from (parse_json(line, f"{file} line {lines.number}") for line in lines if line.strip())
        return
    header = read_header(file)
    names = tuple(name for name in header if header.count(name) == 1)
    for record in read_records(file, names):
        yield dict(zip(names, record.values, strict=True))
