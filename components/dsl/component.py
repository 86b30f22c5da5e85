"""A step as a typed function: `@component` reads its signature.

A component is a typed function that returns None. Its annotations are its specification:
`Input[Corpus]` and `Output[Vocabulary]` are artifacts, `Input[list[Model]]` is any number of artifacts, `Local[int]`
says where or how to run and never changes the result, and everything else is a parameter. A call makes a `Node` for a
pipeline; `run` runs the function at once, on plain folders.
"""

import dataclasses
import enum
import importlib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin

from components.dsl.artifact import Artifact
from components.dsl.canonical import canonical
from components.dsl.errors import nearest

T = TypeVar("T")
A = TypeVar("A", bound=Artifact)
A_co = TypeVar("A_co", bound=Artifact, covariant=True)

StepKind = Literal["data", "training", "measurement"]
"""What a step needs: `data` cores and memory, `training` an accelerator, `measurement` a machine without other load."""


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
    """One parameter of a component; an input may be None if `optional`, and a list of artifacts if `many`."""

    name: str
    role: Role
    artifact: type[Artifact] | None
    optional: bool
    many: bool
    default: Any


def read_signature(function: Callable[..., None]) -> dict[str, Parameter]:
    """The parameters of a typed function, in order.

    Raises:
        TypeError: an artifact is not an input or output, or one of these is not an artifact.
    """
    parameters = {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        # `X | None` is an optional X.
        annotation, arguments = parameter.annotation, [*get_args(parameter.annotation)]
        is_union = get_origin(annotation) in (types.UnionType, Union)
        if optional := is_union and len(arguments) == 2 and type(None) in arguments:
            annotation = next(argument for argument in arguments if argument is not type(None))
        role = Role.PARAMETER
        if get_origin(annotation) is Annotated:
            annotation, *marks = get_args(annotation)
            role = next((mark for mark in marks if isinstance(mark, Role)), role)
        many = role is Role.INPUT and get_origin(annotation) is list
        kind = get_args(annotation)[0] if many else annotation
        is_artifact = isinstance(kind, type) and issubclass(kind, Artifact)
        if is_artifact != (role in (Role.INPUT, Role.OUTPUT)):
            place = f"{function.__name__}.{name}"
            raise TypeError(f"{place}: Input[...] and Output[...] go with artifacts, got {annotation!r}")
        artifact = kind if is_artifact else None
        parameters[name] = Parameter(name, role, artifact, optional, many, parameter.default)
    return parameters


@dataclasses.dataclass(frozen=True, eq=False)
class Handle(Generic[A_co]):
    """An output of a node, to be passed to another component; after a run, `RunResult.artifact` opens it."""

    node: "Node"
    name: str
    artifact: type[A_co]


NodeInput = Handle[Artifact] | Sequence[Handle[Artifact]] | None
"""An input of a node: an output of another node, several outputs, or nothing."""


class Node:
    """A component with its inputs and parameters, waiting to be run.

    Its name is the component's, unless a pipeline has several nodes of one component.
    """

    def __init__(self, component: "Component", inputs: Mapping[str, NodeInput], values: Mapping[str, Any]) -> None:
        self.component = component
        self.name = component.name
        self.inputs = dict(inputs)
        self.values = dict(values)

    def output(self, artifact: type[A]) -> Handle[A]:
        """The handle of the output of a type.

        Raises:
            TypeError: not exactly one output of the component has this type.
        """
        types = {name: output.artifact for name, output in self.component.of_role(Role.OUTPUT).items()}
        names = [name for name, kind in types.items() if kind is artifact]
        if len(names) != 1:
            outputs = ", ".join(f"{name}: {kind.__name__}" for name, kind in types.items() if kind is not None)
            raise TypeError(f"{self!r} must have one output of type {artifact.__name__}, got {outputs}")
        return Handle(self, names[0], artifact)

    def slots(self) -> dict[str, Handle[Artifact] | None]:
        """Each artifact that the node reads, by the name of its input; in a list as `name[0]`, `name[1]`, ..."""
        slots: dict[str, Handle[Artifact] | None] = {}
        for name, value in self.inputs.items():
            if isinstance(value, Sequence):
                slots |= {f"{name}[{place}]": handle for place, handle in enumerate(value)}
            else:
                slots[name] = value
        return slots

    def gather(self, filled: Mapping[str, T]) -> dict[str, T | list[T] | None]:
        """The values of the slots as the component takes them: None for an absent input, a list for a list input."""
        return {
            name: [filled[f"{name}[{place}]"] for place in range(len(value))]
            if isinstance(value, Sequence)
            else filled.get(name)
            for name, value in self.inputs.items()
        }

    def __repr__(self) -> str:
        return f"Node({self.name!r})"


class Component:
    """A typed function that the runtime can wire, run and cache; made by `@component`.

    Attributes:
        libraries: distributions whose versions go into the cache key.
        kind: the needs of the step; a measurement runs beside no other step.
        distributed: whether the step trains, and does so on all processes of `TF_CONFIG` together.
    """

    def __init__(
        self, function: Callable[..., None], libraries: tuple[str, ...], kind: StepKind, distributed: bool = False
    ) -> None:
        self.function = function
        self.libraries = libraries
        self.kind = kind
        self.distributed = distributed
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

    def __call__(self, **arguments: Any) -> Node:
        """A node of this component; its outputs are made when a pipeline runs it.

        Raises:
            TypeError: an argument is unknown, an output, missing, or a handle of the wrong artifact type.
        """
        outputs = sorted(self.of_role(Role.OUTPUT).keys() & arguments.keys())
        if outputs:
            raise TypeError(f"{self.name} must be wired without outputs, got {outputs}; to run it at once, use .run")
        complete = self._complete(arguments, without=Role.OUTPUT)
        inputs = {name: complete.pop(name) for name in self.of_role(Role.INPUT)}
        for name, handle in inputs.items():
            self._check_handle(self.parameters[name], handle)
        return Node(self, inputs, complete)

    def run(self, **arguments: Any) -> None:
        """Runs the function in this process, on artifacts, and seals its outputs.

        Raises:
            TypeError: an argument is unknown or missing.
            FileExistsError: the folder of an output is not empty.
            FileNotFoundError: an input is not a finished artifact.
        """
        complete = self._complete(arguments)
        for name in self.of_role(Role.OUTPUT):
            complete[name].path.mkdir(parents=True, exist_ok=True)
            if any(complete[name].path.iterdir()):
                raise FileExistsError(f"{self.name}.{name} must be an empty folder, got {complete[name].path}")
        for name in self.of_role(Role.INPUT):
            value = complete[name]
            for artifact in value if isinstance(value, list) else [value] if value is not None else []:
                artifact.manifest()
        self.function(**complete)
        record = {name: canonical(complete[name]) for name in self.of_role(Role.PARAMETER)}
        for name in self.of_role(Role.OUTPUT):
            complete[name].seal({"component": self.name, **record})

    def _complete(self, arguments: Mapping[str, Any], without: Role | None = None) -> dict[str, Any]:
        """The arguments with defaults filled in, in the order of the signature."""
        for name in arguments:
            if name not in self.parameters:
                raise TypeError(f"{self.name} has no parameter {name!r}{nearest(name, self.parameters)}")
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
        artifact = parameter.artifact
        assert artifact is not None
        if parameter.many:
            if not isinstance(value, list) or not all(_is_handle_of(item, artifact) for item in value):
                raise TypeError(f"{self.name}.{parameter.name} takes a list of {artifact.__name__}, got {value!r}")
        elif not _is_handle_of(value, artifact):
            raise TypeError(f"{self.name}.{parameter.name} takes a {artifact.__name__}, got {value!r}")


def _is_handle_of(value: Any, artifact: type[Artifact]) -> bool:
    return isinstance(value, Handle) and issubclass(value.artifact, artifact)


def component(
    *, libraries: tuple[str, ...] = (), kind: StepKind = "data", distributed: bool = False
) -> Callable[[Callable[..., None]], Component]:
    """A decorator that makes a component of a typed function.

    Its arguments are not part of the code in the cache key: versions of libraries are a part of their own, and the kind
    says where to run.

    Args:
        libraries: distributions whose versions may change the result; they go into the cache key.
        kind: the needs of the step, which decide where it runs.
        distributed: whether the step trains on all processes of `TF_CONFIG` together, see
            `keras_bert.training.devices.find_strategy`. Other steps run on the chief, as if it were alone.
    """
    return lambda function: Component(function, libraries, kind, distributed)


def find_component(module: str, name: str) -> Component:
    """The component `name` of a module; components are pickled as these two names.

    Raises:
        TypeError: the name is not that of a component.
    """
    attribute = getattr(importlib.import_module(module), name)
    if not isinstance(attribute, Component):
        raise TypeError(f"{module}.{name} is not a component")
    return attribute
