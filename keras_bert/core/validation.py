"""Frozen dataclasses whose fields pydantic validates, with errors of one line."""

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, dataclass_transform, overload

import pydantic

from keras_bert.core.checks import FieldError

T = TypeVar("T")

# Constraints that several records share.
Share = Annotated[float, pydantic.Field(ge=0, le=1)]
PositiveShare = Annotated[float, pydantic.Field(gt=0, le=1)]
OpenShare = Annotated[float, pydantic.Field(gt=0, lt=1)]
ShareBelowOne = Annotated[float, pydantic.Field(ge=0, lt=1)]
Seed = Annotated[int, pydantic.Field(ge=0, lt=2**32)]
NonEmptyStr = Annotated[str, pydantic.Field(min_length=1)]

STRICT = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

# The type of a pydantic error -> the rule that was broken, filled in with the error's context.
_RULES = {
    "greater_than": "be above {gt:.10g}",
    "greater_than_equal": "be at least {ge:.10g}",
    "less_than": "be below {lt:.10g}",
    "less_than_equal": "be at most {le:.10g}",
    "literal_error": "be {expected}",
    "string_too_short": "not be empty",
    "too_short": "not be empty",
    "missing": "be set",
    "multiple_of": "be a multiple of {multiple_of}",
    "dataclass_type": "be a table",
    "dict_type": "be a table",
}
_PREFIXES = ("Input should ", "String should ", "Value error, ")


@overload
def validated_dataclass(cls: type[T]) -> type[T]: ...


@overload
def validated_dataclass(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def validated_dataclass(cls: type[T] | None = None, *, kw_only: bool = True) -> Any:
    """A frozen pydantic dataclass: annotations are rules of single fields, model validators of several.

    The class raises `FieldError` for the first field that breaks a rule, and TypeError for a field that is missing or
    that it does not have, as a dataclass does. Inside of another pydantic model its errors are pydantic's.
    """
    if cls is None:
        return functools.partial(validated_dataclass, kw_only=kw_only)
    # Building at the first use keeps imports fast.
    config = pydantic.ConfigDict(**STRICT, defer_build=True)
    validated: Any = pydantic.dataclasses.dataclass(cls, frozen=True, kw_only=kw_only, config=config)
    validate = validated.__init__

    @functools.wraps(validate)
    def init(self: Any, *args: Any, **fields: Any) -> None:
        try:
            validate(self, *args, **fields)
        except pydantic.ValidationError as error:
            problem = error.errors()[0]
            first, *inner = problem["loc"] or ("",)
            if isinstance(first, int):  # the number of a positional argument
                names = [field.name for field in dataclasses.fields(validated) if not field.kw_only]
                problem["loc"] = (names[first], *inner)
            raise _python_error(type(self).__name__, problem) from None

    def generate_schema(kind: Any, source: Any, handler: pydantic.GetCoreSchemaHandler) -> Any:
        # Whatever builds the class first puts pydantic's function in this one's place, then asks for the schema.
        if kind is validated:
            validated.__init__ = init
        return handler(source)

    validated.__get_pydantic_core_schema__ = classmethod(generate_schema)
    validated.__init__ = init
    return validated


def read_json(kind: type[T], content: Mapping[str, Any], owner: str) -> T:
    """The record, or the member of a union of records with a discriminator, with fields as JSON has them.

    Raises:
        FieldError: a field breaks a rule; the error names the record `owner`.
        TypeError: a field is missing, or the record does not have it.
    """
    adapter = pydantic.TypeAdapter(kind)
    try:
        return adapter.validate_json(json.dumps(content))
    except pydantic.ValidationError as error:
        problem = error.errors()[0]
        raise _python_error(owner, {**problem, "loc": field_place(problem, content)}) from None


def _python_error(owner: str, problem: Mapping[str, Any]) -> Exception:
    place = list(map(str, problem["loc"]))
    if problem["type"] == "missing":
        return TypeError(f"{owner}.{place[-1]} must be set")
    if problem["type"] == "unexpected_keyword_argument":
        return TypeError(f"{owner} has no field {place[-1]!r}")
    return field_error(problem, [owner, *place])


def field_place(problem: Mapping[str, Any], content: Any) -> list[str]:
    """The keys that lead to the field of an error, without the names of union members that pydantic puts between.

    `problem` is an item of `pydantic.ValidationError.errors()`, `content` the plain values that pydantic read.
    """
    place = []
    for part in problem["loc"]:
        if isinstance(part, int) if isinstance(content, list) else isinstance(content, Mapping) and part in content:
            place.append(str(part))
            content = content[part]
    return [*place, str(problem["loc"][-1])] if problem["type"] == "missing" else place


def field_error(problem: Mapping[str, Any], place: Sequence[str]) -> FieldError:
    """An item of `pydantic.ValidationError.errors()` as the error of a field.

    `place` are the keys that lead to the field, such as `["fine_tuning", "steps"]`; for an error of a rule between
    several fields, or of a union's discriminator, the keys that lead to the record.
    """
    kind, context = problem["type"], problem.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, FieldError):
        return FieldError(".".join(place), cause.field, cause.rule, cause.value, cause.hint)
    if kind == "union_tag_not_found":
        return FieldError(".".join(place), context["discriminator"].strip("'"), "be set", ...)
    if kind == "union_tag_invalid":
        rule = f"be one of {context['expected_tags']}"
        return FieldError(".".join(place), context["discriminator"].strip("'"), rule, context["tag"])
    rule = _RULES[kind].format(**context) if kind in _RULES else problem["msg"]
    rule = "be positive" if rule == "be above 0" else rule
    for prefix in _PREFIXES:
        rule = rule.removeprefix(prefix)
    return FieldError(".".join(place[:-1]), place[-1], rule, ... if kind == "missing" else problem["input"])
