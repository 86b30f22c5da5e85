"""A step as a typed function: `@component` reads its signature; called without outputs it makes a `Node`.

A component is a typed function that returns None. Its annotations are its specification:
`Input[Corpus]` and `Output[Vocabulary]` are artifacts, `Input[list[Model]]` is any number of them, `Local[int]` says
where or how to run and never changes the result, everything else is a parameter. Called with its outputs it runs at
once, on plain folders; called without them it makes a `Node` for a pipeline.
"""

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from components.dsl.artifact import Artifact
from components.dsl.canonical import canonical
from components.dsl.errors import nearest
from components.dsl.signature import Parameter, Role, read_signature

T = TypeVar("T")


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


Given = Handle | Latest | list[Handle] | None
"""An input of a node: an output of another one, several of them, or nothing."""


class Node:
    """A component with its inputs and parameters, waiting to be run; outputs are its attributes.

    Attributes:
        name: what runs call it; that of the component, unless a pipeline has several nodes of one.
    """

    def __init__(self, component: "Component", inputs: Mapping[str, Given], values: Mapping[str, Any]) -> None:
        self.component = component
        self.name = component.name
        self.inputs = dict(inputs)
        self.values = dict(values)

    def slots(self) -> dict[str, Handle | Latest | None]:
        """Each artifact that the node reads, by the name of its input; those of a list as `name[0]`, `name[1]`, ..."""
        slots: dict[str, Handle | Latest | None] = {}
        for name, given in self.inputs.items():
            if isinstance(given, list):
                slots |= {f"{name}[{place}]": handle for place, handle in enumerate(given)}
            else:
                slots[name] = given
        return slots

    def gather(self, filled: Mapping[str, T]) -> dict[str, T | list[T] | None]:
        """What fills the slots, as the component takes it: None where an input is absent, a list where it is one."""
        return {
            name: [filled[f"{name}[{place}]"] for place in range(len(given))]
            if isinstance(given, list)
            else filled.get(name)
            for name, given in self.inputs.items()
        }

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

    def __init__(self, function: Callable[..., None], libraries: tuple[str, ...], alone: bool) -> None:
        self.function = function
        self.libraries = libraries
        self.alone = alone
        self.name = function.__name__
        self.module = function.__module__
        self.parameters = read_signature(function)
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
            given = complete[name]
            for artifact in given if isinstance(given, list) else [given] if given is not None else []:
                artifact.manifest()
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
        if parameter.many:
            if not isinstance(value, list) or not all(_gives(each, Handle, wanted) for each in value):
                raise TypeError(f"{self.name}.{parameter.name} takes a list of {wanted.__name__}, got {value!r}")
        elif not _gives(value, Handle | Latest, wanted):
            raise TypeError(f"{self.name}.{parameter.name} takes a {wanted.__name__}, got {value!r}")


def _gives(value: Any, kinds: Any, wanted: type[Artifact]) -> bool:
    return isinstance(value, kinds) and issubclass(value.artifact, wanted)


def component(*, libraries: tuple[str, ...] = (), alone: bool = False) -> Callable[[Callable[..., None]], Component]:
    """Makes a component of a typed function.

    Args:
        libraries: distributions whose version may change the result; they go into the cache key.
        alone: whether it measures time, and must not run beside other steps.
    """
    return lambda function: Component(function, libraries, alone)


def find_component(module: str, name: str) -> Component:
    """The component `name` of a module; how a component travels to another process."""
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, Component):
        raise TypeError(f"{module}.{name} is not a component")
    return found
