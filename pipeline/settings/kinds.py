"""Reading a table that is one of several kinds, as the one that its key `kind` names."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pydantic
import pydantic_core

from components.dsl.errors import nearest

# Of an error that holds those of the kind's own fields, as pydantic lists them.
OF_A_KIND = "of_a_kind"

_STRICT = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def by_kind(kinds: Mapping[str, type]) -> Callable[[Any], Any]:
    """A reader of tables for `pydantic.PlainValidator`.

    Args:
        kinds: name -> the record that is made of a table's other keys; looked at when a table is read.

    Returns:
        A function of a table, or of a record, or None, which both stay as they are. It raises a PydanticCustomError of
        type `OF_A_KIND` with the problems as pydantic lists them, placed inside of the table.
    """

    def read(value: Any) -> Any:
        if value is None or isinstance(value, tuple(kinds.values())):
            return value
        if not isinstance(value, dict):
            raise _error({"type": "dict_type", "loc": (), "msg": "Input should be an object", "input": value})
        kind = value.get("kind")
        if kind is None:
            raise _error({"type": "missing", "loc": ("kind",), "msg": "Field required", "input": value})
        if not isinstance(kind, str) or kind not in kinds:
            problem = {"type": "kind", "loc": ("kind",), "msg": f"Input should be one of {list(kinds)}", "input": kind}
            raise _error({**problem, "hint": nearest(str(kind), kinds)})
        fields = {name: inner for name, inner in value.items() if name != "kind"}
        table = pydantic.create_model("Table", __config__=_STRICT, record=(kinds[kind], ...))
        try:
            made = table.model_validate_json(json.dumps({"record": fields}))
        except pydantic.ValidationError as error:
            raise _error(*({**problem, "loc": problem["loc"][1:]} for problem in error.errors())) from None
        return made.record  # type: ignore[attr-defined]

    return read


def _error(*problems: Any) -> pydantic_core.PydanticCustomError:
    return pydantic_core.PydanticCustomError(OF_A_KIND, "problems of a kind", {"problems": list(problems)})
