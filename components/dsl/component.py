"""What a step is to the runtime: `@component`, `Input`, `Output` and the errors it may raise.

A component is a typed function that returns None. Its annotations are its specification:
`Input[Corpus]` and `Output[Vocabulary]` are artifacts, `Local[int]` says where or how to run and never
changes the result, everything else is a parameter. Called with its outputs it runs at once, on plain
folders; called without them it makes a `Node` for a pipeline.
"""

import dataclasses
import difflib
import enum
import importlib
import inspect
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, Union, get_args, get_origin, runtime_checkable

from components.dsl.artifact import Artifact

T = TypeVar("T")

# Names in an error message, of however many there are.
_SHOWN = 20


class Role(enum.Enum):
    """What a parameter of a component is to the runtime."""

    INPUT = "input"
    OUTPUT = "output"
    LOCAL = "local"
    PARAMETER = "parameter"


Input = Annotated[T, Role.INPUT]
Output = Annotated[T, Role.OUTPUT]
Local = Annotated[T, Role.LOCAL]


class InputError(ValueError):
    """What the user gave cannot be used: one line that names the field, the rule and the value."""


class Refusal(Exception):
    """A step ran as it should and its answer is no (a model that is not blessed); later steps do not run."""


@runtime_checkable
class Source(Protocol):
    """A parameter that stands for data outside the store, such as a folder of the user's."""

    def fingerprint(self) -> str:
        """The digest of the content; it goes into the cache key in place of the location.

        Raises:
            InputError: the data is not there or cannot be used.
        """


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a component.

    Attributes:
        artifact: the artifact type of an input or output, else None.
        optional: an input that may be None.
        default: the default value, `inspect.Parameter.empty` where there is none.
    """

    name: str
    role: Role
    artifact: type[Artifact] | None
    optional: bool
    default: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Handle:
    """An output of a node, to be passed to another component."""

    node: "Node"
    name: str
    artifact: type[Artifact]


@dataclasses.dataclass(frozen=True, eq=False)
class Latest:
    """The newest artifact of a type that this pipeline published but did not make from `besides`, or None.

    It lets a candidate meet its predecessor: asking again after the candidate itself was published
    still answers with the predecessor, so a repeated run finds the same inputs and stays cached.
    """

    artifact: type[Artifact]
    besides: Handle


class Node:
    """A component with its inputs and parameters, waiting to be run; outputs are its attributes."""

    def __init__(
        self, component: "Component", inputs: Mapping[str, Handle | Latest | None], values: Mapping[str, Any]
    ) -> None:
        self.component = component
        self.name = component.name
        self.inputs = dict(inputs)
        self.values = dict(values)

    def __getattr__(self, name: str) -> Handle:
        component: Component | None = self.__dict__.get("component")
        outputs = component.of_role(Role.OUTPUT) if component else {}
        if name not in outputs:
            raise AttributeError(f"{self!r} has no output {name!r}, only {sorted(outputs)}")
        artifact = outputs[name].artifact
        assert artifact is not None
        return Handle(self, name, artifact)

    def __repr__(self) -> str:
        return f"Node({self.__dict__.get('name')!r})"


class Component:
    """A typed function that the runtime can run, cache and wire. Made by `@component`."""

    def __init__(self, function: Callable[..., None], libraries: tuple[str, ...]) -> None:
        self.function = function
        self.libraries = libraries
        self.name = function.__name__
        self.module = function.__module__
        self.parameters = _read_signature(function)
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"<component {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return find_component, (self.module, self.name)

    def of_role(self, role: Role) -> dict[str, Parameter]:
        """The parameters with this role, in the order of the signature."""
        return {name: parameter for name, parameter in self.parameters.items() if parameter.role is role}

    def __call__(self, **arguments: Any) -> Any:
        """Runs the step when its outputs are given (and returns None), else returns a `Node`.

        Raises:
            TypeError: an argument is unknown, missing or of the wrong artifact type.
        """
        self._check_names(arguments)
        outputs = self.of_role(Role.OUTPUT)
        if outputs.keys() <= arguments.keys():
            return self.run(arguments)
        given = outputs.keys() & arguments.keys()
        if given:
            raise TypeError(f"{self.name} needs all of its outputs or none, got only {sorted(given)}")
        complete = self._complete(arguments, without=Role.OUTPUT)
        inputs = {name: complete.pop(name) for name in self.of_role(Role.INPUT)}
        for name, handle in inputs.items():
            self._check_handle(self.parameters[name], handle)
        return Node(self, inputs, complete)

    def run(self, arguments: Mapping[str, Any]) -> None:
        """Runs the function in this process, on artifacts, and seals what it made."""
        complete = self._complete(arguments)
        for name in self.of_role(Role.OUTPUT):
            complete[name].path.mkdir(parents=True, exist_ok=True)
            if any(complete[name].path.iterdir()):
                raise FileExistsError(f"{self.name}.{name} must be an empty folder, got {complete[name].path}")
        for name in self.of_role(Role.INPUT):
            if complete[name] is not None:
                complete[name].manifest()
        self.function(**complete)
        record = {name: canonical(complete[name]) for name in self.of_role(Role.PARAMETER)}
        for name in self.of_role(Role.OUTPUT):
            complete[name].seal({"component": self.name, **record})

    def _check_names(self, arguments: Mapping[str, Any]) -> None:
        for name in arguments:
            if name not in self.parameters:
                raise TypeError(f"{self.name} has no parameter {name!r}{nearest(name, self.parameters)}")

    def _complete(self, arguments: Mapping[str, Any], without: Role | None = None) -> dict[str, Any]:
        """The arguments with defaults filled in, in the order of the signature."""
        complete = {}
        for name, parameter in self.parameters.items():
            if parameter.role is without:
                continue
            value = arguments.get(name, parameter.default)
            if value is inspect.Parameter.empty:
                raise TypeError(f"{self.name} needs {parameter.role.value} {name!r}")
            complete[name] = value
        return complete

    def _check_handle(self, parameter: Parameter, value: Any) -> None:
        if value is None and parameter.optional:
            return
        wanted = parameter.artifact
        assert wanted is not None
        if not isinstance(value, Handle | Latest) or not issubclass(value.artifact, wanted):
            raise TypeError(f"{self.name}.{parameter.name} takes a {wanted.__name__}, got {value!r}")


def component(*, libraries: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Component]:
    """Makes a component of a typed function.

    Args:
        libraries: distributions whose version may change the result; they go into the cache key.
    """
    return lambda function: Component(function, libraries)


def find_component(module: str, name: str) -> Component:
    """The component `name` of a module; how a component travels to another process."""
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, Component):
        raise TypeError(f"{module}.{name} is not a component")
    return found


def nearest(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """The end of an error message about an unknown name: the nearest known one, or the first 20 of all."""
    close = difflib.get_close_matches(name, list(known), n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    names = sorted(known)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"; known: {', '.join(names[:_SHOWN])}{more}"


def canonical(value: Any) -> Any:
    """A parameter as JSON values, the same for equal parameters in any process.

    Raises:
        TypeError: the value has no canonical form.
    """
    if isinstance(value, Source):
        return {"type": type(value).__name__, "fingerprint": value.fingerprint()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: canonical(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): canonical(item) for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a parameter must be made of plain values and dataclasses, got {value!r}")


def _read_signature(function: Callable[..., None]) -> dict[str, Parameter]:
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
    is_artifact = isinstance(annotation, type) and issubclass(annotation, Artifact)
    if is_artifact != (role in (Role.INPUT, Role.OUTPUT)):
        raise TypeError(f"{owner}.{parameter.name}: Input[...] and Output[...] go with artifacts, got {annotation!r}")
    return Parameter(parameter.name, role, annotation if is_artifact else None, optional, parameter.default)


def _strip_none(annotation: Any) -> tuple[Any, bool]:
    """`X | None` -> (X, True); anything else -> (itself, False)."""
    arguments = get_args(annotation)
    if get_origin(annotation) in (types.UnionType, Union) and len(arguments) == 2:
        rest = [argument for argument in arguments if argument is not type(None)]
        if len(rest) == 1:
            return rest[0], True
    return annotation, False
