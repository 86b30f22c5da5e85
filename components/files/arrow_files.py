"""Columns of Parquet and Arrow files, a batch of rows at a time."""

import json
from collections.abc import Iterator
from typing import Any

from components.dsl.errors import InputError
from components.files.columns import find_columns
from components.files.text_files import extension, open_binary

_ROWS_AT_ONCE = 256
_PAGES_AT_ONCE = 1 << 20


def read_columns(file: str, fields: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """The values of some columns, row by row; strings are bytes, for they may not be UTF-8.

    Raises:
        InputError: the file is missing, no whole file of its kind, or lacks a column.
    """
    import pyarrow as pa

    row = 0
    named = list(enumerate(fields))
    with open_binary(file) as stream:
        try:
            for batch in _read_batches(file, stream, fields):
                columns = [_cells(batch.column(place), _class_names(batch.schema, field)) for place, field in named]
                for values in zip(*columns, strict=True):
                    row += 1
                    yield values
        except InputError:
            raise
        # A time may be out of the range of Python; a corrupted batch may state any size.
        except (pa.ArrowException, MemoryError, OSError, OverflowError, ValueError) as error:
            kind = extension(file)
            reason = " ".join(str(error).split()) or "a batch that is larger than the memory"
            raise InputError(f"{file} must be a whole {kind} file, got after row {row}: {reason}") from None


def _read_batches(file: str, stream: Any, fields: tuple[str, ...]) -> Iterator[Any]:
    """Record batches with only the columns of `fields`, in this order."""
    if extension(file) == ".parquet":
        from pyarrow.parquet import ParquetFile

        # Read page by page: a row group may be as large as the file.
        table = ParquetFile(stream, pre_buffer=False, buffer_size=_PAGES_AT_ONCE)
        find_columns(file, fields, table.schema_arrow.names)
        for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=list(fields)):
            yield batch.select(fields)
        return
    from pyarrow import ipc

    # `datasets` saves streams; the other format of Arrow has its own mark at the start.
    is_stream = stream.read(6) != b"ARROW1"
    stream.seek(0)
    reader = ipc.open_stream(stream) if is_stream else ipc.open_file(stream)
    find_columns(file, fields, reader.schema.names)
    whole = reader if is_stream else (reader.get_batch(number) for number in range(reader.num_record_batches))
    for batch in whole:
        yield _validated(batch, fields)


def _validated(batch: Any, fields: tuple[str, ...]) -> Any:
    """Selects columns of a batch and validates their offsets, which Arrow does not do by itself.

    Raises:
        ArrowInvalid: an offset is out of bounds; reading the column would end the process.
    """
    # Checks all columns without their values: they must be equally long.
    batch.validate()
    chosen = batch.select(fields)
    for column in chosen.columns:
        # Strings that are not UTF-8 are accepted here. A view of an extension type would end the process.
        extended = "extension<" in str(column.type)
        (column if extended else column.view(_with_bytes(column.type))).validate(full=True)
    return chosen


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
    """The class names of an integer column, or of a column of integer lists; empty where the integers are no classes.

    `datasets` (Hugging Face) keeps them in the metadata, as the features `ClassLabel` and lists of it.
    """
    try:
        feature = json.loads(schema.metadata[b"huggingface"])["info"]["features"][field]
        names = feature.get("feature", feature)["names"]
    except (TypeError, KeyError, ValueError, AttributeError):
        return []
    return names if isinstance(names, list) else []


def _name_classes(value: Any, names: list[str]) -> Any:
    """The class name of an integer; an integer without a class, such as -1 in unlabelled rows, stays."""
    if isinstance(value, list):
        return [_name_classes(part, names) for part in value]
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value


def _cells(column: Any, names: list[str]) -> list[Any]:
    """The values of a column, strings as bytes: pyarrow would fail at the first that is not UTF-8."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        column = column.cast(pa.binary())
    elif pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    values: list[Any] = column.to_pylist()
    return [_name_classes(value, names) for value in values] if names else values
