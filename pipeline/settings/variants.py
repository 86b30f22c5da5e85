"""Reading `[encoder.variant]`: as the kind that it names."""

import json
from typing import Any

import pydantic
import pydantic_core

from components.dsl.errors import nearest
from keras_bert.variants.base import Variant
from keras_bert.variants.registry import VARIANTS

# Of an error that holds those of the kind's own fields, as pydantic lists them.
OF_A_KIND = "of_a_kind"

_STRICT = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def read_variant(value: Any) -> Variant | None:
    """A variant's table as the record that its `kind` says.

    Raises:
        PydanticCustomError: of type `OF_A_KIND`, its problems as pydantic lists them, placed inside of the table.
    """
    if value is None or isinstance(value, Variant):
        return value
    if not isinstance(value, dict):
        raise _error({"type": "dict_type", "loc": (), "msg": "Input should be an object", "input": value})
    kind = value.get("kind")
    if kind is None:
        raise _error({"type": "missing", "loc": ("kind",), "msg": "Field required", "input": value})
    if not isinstance(kind, str) or kind not in VARIANTS:
        problem = {"type": "kind", "loc": ("kind",), "msg": f"Input should be one of {list(VARIANTS)}", "input": kind}
        raise _error({**problem, "hint": nearest(str(kind), VARIANTS)})
    fields = {name: inner for name, inner in value.items() if name != "kind"}
    table = pydantic.create_model("Table", __config__=_STRICT, variant=(VARIANTS[kind], ...))
    try:
        read = table.model_validate_json(json.dumps({"variant": fields}))
    except pydantic.ValidationError as error:
        raise _error(*({**problem, "loc": problem["loc"][1:]} for problem in error.errors())) from None
    variant: Variant = read.variant  # type: ignore[attr-defined]
    return variant


def _error(*problems: Any) -> pydantic_core.PydanticCustomError:
    return pydantic_core.PydanticCustomError(OF_A_KIND, "problems of a kind", {"problems": list(problems)})
