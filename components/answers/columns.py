"""The columns of a table with answers, as types of Arrow."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from components.dsl.errors import InputError
from components.files.text_files import is_unicode
from keras_bert.tasks.answer_columns import ColumnType, Vector

if TYPE_CHECKING:
    import pyarrow as pa

# Above it not all integers are numbers of float64.
_EXACT = 2**53
_INT64 = range(-(2**63), 2**63)


def arrow_type(column_type: ColumnType) -> "pa.DataType":
    """The type of Arrow for a type of `Task.answer_columns`."""
    import pyarrow as pa

    plain: dict[ColumnType, pa.DataType] = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    if column_type in plain:
        return plain[column_type]
    if isinstance(column_type, Vector):
        numbers = {"float32": pa.float32(), "int8": pa.int8(), "uint8": pa.uint8()}
        return pa.list_(numbers[column_type.number], column_type.size)
    if get_origin(column_type) is list:
        return pa.list_(arrow_type(get_args(column_type)[0]))
    if isinstance(column_type, type) and dataclasses.is_dataclass(column_type):
        return pa.struct([(name, arrow_type(hint)) for name, hint in get_type_hints(column_type).items()])
    raise TypeError(f"a column of answers must be str, bool, int, float, list, Vector or dataclass, got {column_type}")


def name_answers(columns: Iterable[str], answers: Iterable[str], prefix: str) -> list[str]:
    """The names of the columns of answers, each with the prefix.

    Without a prefix, all begin with `predicted_` if the table has one of them already: they belong together.
    """
    taken, answers = set(columns), [*answers]
    prefix = prefix or ("predicted_" if taken.intersection(answers) else "")
    names = [f"{prefix}{name}" for name in answers]
    for name in names:
        if name in taken:
            raise InputError(
                f"the table must have no column {name!r}, as the answers have one; --prefix model_ would write "
                f"{f'model_{name}'!r} beside it"
            )
    return names


class JsonTypes:
    """The types of fields of JSON lines, learnt from all their values.

    Fields whose values are all of one kind keep it; numbers are float64 if one has a fraction. Values of several kinds,
    lists, objects and integers that the type cannot hold become JSON text.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, set[str]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Learns from a record."""
        for name, value in record.items():
            self._kinds.setdefault(name, set()).add(_kind(value))

    def names(self) -> dict[str, str]:
        """The type of each field by its name: `bool`, `int64`, `double`, `string`, or `json` for JSON text."""
        types = {}
        for name, kinds in self._kinds.items():
            if (filled := kinds - {"null"}) <= {"string"}:
                types[name] = "string"
            elif filled == {"bool"}:
                types[name] = "bool"
            elif filled <= {"int", "long"}:
                types[name] = "int64"
            else:
                types[name] = "double" if filled <= {"int", "float"} else "json"
        return types


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if abs(value) <= _EXACT else "long" if value in _INT64 else "json"
    if isinstance(value, float):
        return "float"
    return "string" if isinstance(value, str) and is_unicode(value) else "json"
