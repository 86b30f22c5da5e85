"""The types of the columns of a table of answers."""

import dataclasses
from types import GenericAlias


@dataclasses.dataclass(frozen=True)
class Vector:
    """The type of a column of vectors of float32, all of one size.

    Attributes:
        size: how many numbers a vector has.

    Examples:
        >>> Vector(384).size
        384
    """

    size: int


# `str`, `bool`, `int`, `float`, a dataclass of such fields, or a list of one of these; or a `Vector`.
ColumnType = type | GenericAlias | Vector
