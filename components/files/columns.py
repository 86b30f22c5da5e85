"""The columns of a table by their names."""

from collections.abc import Sequence

from components.dsl.errors import InputError, nearest

# Characters of a column's name in an error: if the header is missing, the names are whole texts.
_SHOWN = 40


class MissingColumnError(InputError):
    """A table has no column, or a line of JSON no field, of this name."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


def find_columns(file: str, fields: Sequence[str], header: list[str], advice: str = "") -> list[int]:
    """The index of the column of each field in the header of a table.

    `advice` is the end of the error about a missing column if no column has a similar name.
    """
    for field in fields:
        if field not in header:
            names = [name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..." for name in header]
            hint = nearest(field, names, advice)
            raise MissingColumnError(f"the table {file} has no column {field!r}{hint}", field)
        if header.count(field) > 1:
            raise InputError(f"the table {file} must have one column {field!r}, got {header.count(field)}")
    return [header.index(field) for field in fields]
