"""The types of the columns of a table of answers."""

import dataclasses
from types import GenericAlias
from typing import Literal

NumberType = Literal["float32", "int8", "uint8"]


@dataclasses.dataclass(frozen=True)
class Vector:
    """The type of a column of vectors, all with `size` numbers of a type."""

    size: int
    number: NumberType = "float32"


# `str`, `bool`, `int`, `float`, a dataclass of such fields, or a list of one of these; or a `Vector`.
ColumnType = type | GenericAlias | Vector
