"""The columns of a table by their names."""

from components.base import InputError, nearest


def find_columns(file: str, fields: tuple[str, ...], header: list[str]) -> list[int]:
    """The places of the fields among the names of a table's columns.

    Raises:
        InputError: one is not there.
    """
    for field in fields:
        if field not in header:
            raise InputError(f"the table {file} has no column {field!r}{nearest(field, header)}")
    return [header.index(field) for field in fields]
