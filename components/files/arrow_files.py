"""Columns of Parquet and Arrow files, a batch of rows at a time."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from components.dsl.errors import InputError
from components.files.columns import find_columns
from components.files.text_files import extension, open_binary

_ROWS_AT_ONCE = 256
_PAGES_AT_ONCE = 1 << 20


class UnnamedClass(NamedTuple):
    """A number to which a file with names of classes gives none, such as -1 in unlabelled rows; it is not a text."""

    number: int

    def __str__(self) -> str:
        return f"{self.number}, to which the file gives no name"


def read_columns(file: str, fields: tuple[str, ...], *, others: bool = False) -> Iterator[Any]:
    """The values of some columns, row by row; strings are bytes, for they may not be UTF-8.

    The file must have all `fields`; `others` reads its other columns, too.

    Yields:
        A row: the values of `fields` as a tuple; or the values of all columns by name, and the names of the classes of
            each column, see `_class_names`.
    """

    def rows(batch: Any) -> Iterator[Any]:
        names = batch.schema.names
        classes = {name: _class_names(batch.schema, name) for name in names}
        values = zip(*[_cells(column, classes[name]) for name, column in zip(names, batch, strict=True)], strict=True)
        return ((dict(zip(names, row, strict=True)), classes) for row in values) if others else values

    return _read_parts(file, fields, rows, others=others)


def read_plain_tables(file: str, most_rows: int) -> Iterator[tuple[Any, dict[int, str]]]:
    """All columns, in tables of at most `most_rows` rows, with types whose rows can be selected and written.

    Yields:
        A table, and the reason why a row of it cannot be used, by the row's index.
    """
    import pyarrow as pa

    for batch in _read_parts(file, (), lambda batch: iter([batch]), others=True):
        for start in range(0, batch.num_rows, most_rows):
            part = batch.slice(start, most_rows)
            # The metadata of the schema only describes the columns of the input.
            table = pa.table([_plain_column(column) for column in part.columns], names=part.schema.names)
            yield table, dict(_find_undecodable(table))


def _read_parts(
    file: str, fields: tuple[str, ...], parts: Callable[[Any], Iterator[Any]], *, others: bool
) -> Iterator[Any]:
    """What `parts` makes of each record batch of a file."""
    import pyarrow as pa

    row = 0
    try:
        with open_binary(file) as stream:
            for batch in _read_batches(file, stream, fields, others=others):
                yield from parts(batch)
                row += batch.num_rows
    except InputError:
        raise
    # A time may be out of the range of Python, or of an unknown zone; a corrupted batch may state any size.
    except (pa.ArrowException, LookupError, MemoryError, OSError, OverflowError, ValueError) as error:
        kind = extension(file)
        reason = " ".join(str(error).split()) or "a batch that is larger than the memory"
        raise InputError(f"{file} must be a whole {kind} file, got after row {row}: {reason}") from None


def _read_batches(file: str, stream: Any, fields: tuple[str, ...], *, others: bool) -> Iterator[Any]:
    """Record batches with the columns of `fields`, in this order, or with all columns in the order of the file."""
    if extension(file) == ".parquet":
        from pyarrow.parquet import ParquetFile

        # Read page by page: a row group may be as large as the file.
        table = ParquetFile(stream, pre_buffer=False, buffer_size=_PAGES_AT_ONCE)
        names = _choose_columns(file, fields, table.schema_arrow.names, others=others)
        for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=names):
            yield batch.select(names)
        return
    from pyarrow import ipc

    # `datasets` saves streams; the other format of Arrow has its own mark at the start.
    is_stream = stream.read(6) != b"ARROW1"
    stream.seek(0)
    reader = ipc.open_stream(stream) if is_stream else ipc.open_file(stream)
    names = _choose_columns(file, fields, reader.schema.names, others=others)
    for batch in reader if is_stream else map(reader.get_batch, range(reader.num_record_batches)):
        # Checks all columns without their values: they must be equally long.
        batch.validate()
        chosen = batch.select(names)
        for column in chosen.columns:
            # Strings that are not UTF-8 are accepted here. A view of an extension type would end the process.
            extended = "extension<" in str(column.type)
            (column if extended else column.view(_with_bytes(column.type))).validate(full=True)
        yield chosen


def _choose_columns(file: str, fields: tuple[str, ...], header: list[str], *, others: bool) -> list[str]:
    find_columns(file, (*fields, *header) if others else fields, header)
    return header if others else list(fields)


def _with_bytes(kind: Any) -> Any:
    """An Arrow type with bytes in place of strings, at any depth; the memory layout is the same."""
    import pyarrow as pa

    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return pa.binary() if types.is_string(kind) else pa.large_binary()
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _with_bytes(kind.value_type), kind.ordered)
    if types.is_struct(kind):
        return pa.struct([field.with_type(_with_bytes(field.type)) for field in kind])
    if types.is_fixed_size_list(kind):
        return pa.list_(_with_bytes(kind.value_type), kind.list_size)
    if types.is_list(kind):
        return pa.list_(_with_bytes(kind.value_type))
    return pa.large_list(_with_bytes(kind.value_type)) if types.is_large_list(kind) else kind


def _class_names(schema: Any, field: str) -> list[str]:
    """The class names of an integer column, or of a column of integer lists; empty where the integers are not classes.

    `datasets` (Hugging Face) keeps them in the metadata, as the features `ClassLabel` and lists of it.
    """
    try:
        feature = json.loads(schema.metadata[b"huggingface"])["info"]["features"][field]
        names = feature.get("feature", feature)["names"]
    except (TypeError, KeyError, ValueError, AttributeError):
        return []
    return names if isinstance(names, list) else []


def _name_classes(value: Any, names: list[str]) -> Any:
    """The class name of an integer, which pandas writes as a float beside null."""
    if isinstance(value, list):
        return [_name_classes(part, names) for part in value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        return value
    return names[value] if 0 <= value < len(names) else UnnamedClass(value)


def _cells(column: Any, names: list[str]) -> list[Any]:
    """The values of a column, decimals as numbers, strings as bytes: pyarrow would fail where they are not UTF-8."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        column = column.cast(pa.binary())
    elif pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    values: list[Any] = column.to_pylist()
    if pa.types.is_decimal(column.type):
        number = float if column.type.scale > 0 else int
        values = [value if value is None else number(value) for value in values]
    return [_name_classes(value, names) for value in values] if names else values


def _plain_column(column: Any) -> Any:
    """A column converted to a type whose rows can be selected and written."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    if pa.types.is_run_end_encoded(column.type):
        return compute.run_end_decode(column)
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(column.type)
    return column if plain is None else column.cast(plain)


def _find_undecodable(table: Any) -> Iterator[tuple[int, str]]:
    """The rows in which a string is not UTF-8, which Parquet and Arrow do not check, each with the reason."""
    import pyarrow as pa

    for name in reversed(table.column_names):
        if not _is_valid(table[name]):
            for row in range(table.num_rows):
                # A slice would be validated with the values around it.
                if not _is_valid(table[name].take(pa.array([row]))):
                    yield row, f"field {name!r} must be UTF-8, got other bytes"


def _is_valid(column: Any) -> bool:
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
