"""The signature of a component, which specifies its inputs, outputs and parameters."""

import dataclasses
import enum
import inspect
import types
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from components.dsl.artifact import Artifact

T = TypeVar("T")


class Role(enum.Enum):
    """The role of a component's parameter for the runtime."""

    INPUT = "input"
    OUTPUT = "output"
    LOCAL = "local"
    PARAMETER = "parameter"


Input = Annotated[T, Role.INPUT]
Output = Annotated[T, Role.OUTPUT]
Local = Annotated[T, Role.LOCAL]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a component.

    Attributes:
        artifact: the artifact type of an input or output, else None.
        optional: an input that may be None.
        many: an input that is a list of artifacts.
        default: the default value, `inspect.Parameter.empty` where there is none.
    """

    name: str
    role: Role
    artifact: type[Artifact] | None
    optional: bool
    many: bool
    default: Any


def read_signature(function: Callable[..., None]) -> dict[str, Parameter]:
    """The parameters of a typed function, in order.

    Raises:
        TypeError: an artifact is no input or output, or one of these is no artifact.
    """
    return {
        parameter.name: _read_parameter(function.__name__, parameter)
        for parameter in inspect.signature(function, eval_str=True).parameters.values()
    }


def _read_parameter(owner: str, parameter: inspect.Parameter) -> Parameter:
    annotation, optional = _strip_none(parameter.annotation)
    role = Role.PARAMETER
    if get_origin(annotation) is Annotated:
        annotation, *marks = get_args(annotation)
        role = next((mark for mark in marks if isinstance(mark, Role)), role)
    many = role is Role.INPUT and get_origin(annotation) is list
    kind = get_args(annotation)[0] if many else annotation
    is_artifact = isinstance(kind, type) and issubclass(kind, Artifact)
    if is_artifact != (role in (Role.INPUT, Role.OUTPUT)):
        raise TypeError(f"{owner}.{parameter.name}: Input[...] and Output[...] go with artifacts, got {annotation!r}")
    return Parameter(parameter.name, role, kind if is_artifact else None, optional, many, parameter.default)


def _strip_none(annotation: Any) -> tuple[Any, bool]:
    """`X | None` -> (X, True); anything else -> (itself, False)."""
    arguments = get_args(annotation)
    if get_origin(annotation) in (types.UnionType, Union) and len(arguments) == 2:
        rest = [argument for argument in arguments if argument is not type(None)]
        if len(rest) == 1:
            return rest[0], True
    return annotation, False
