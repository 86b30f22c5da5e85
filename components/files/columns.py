"""The columns of a table by their names."""

from components.dsl.errors import InputError, nearest


def find_columns(file: str, fields: tuple[str, ...], header: list[str]) -> list[int]:
    """The places of the fields among the names of a table's columns.

    Raises:
        InputError: one is not there, or there are two of the same name.
    """
    for field in fields:
        if field not in header:
            raise InputError(f"the table {file} has no column {field!r}{nearest(field, header)}")
        if header.count(field) > 1:
            raise InputError(f"the table {file} must have one column {field!r}, got {header.count(field)}")
    return [header.index(field) for field in fields]
