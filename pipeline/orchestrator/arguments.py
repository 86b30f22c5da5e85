"""Arguments of components as JSON, for processes that read them from a file of the root.

Whoever can write to the root can change such a file. So it makes no objects but those that arguments consist of, and
runs no code that it names, as a pickle does.
"""

import dataclasses
import enum
import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from components.dsl.artifact import Artifact
from pipeline.orchestrator.fingerprint import FIRST_PARTY


def encode_argument(value: Any) -> Any:
    """An argument of a component, or a `StepFolders`, as JSON values; the types of objects are named."""
    kind, content = type(value), value
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [encode_argument(item) for item in value]
    if isinstance(value, Path):
        kind, content = Path, str(value)
    elif isinstance(value, Artifact):
        content = str(value.path)
    elif isinstance(value, enum.Enum):
        content = value.value
    elif kind is tuple:
        content = encode_argument([*value])
    elif kind is dict and all(isinstance(name, str) for name in value):
        content = {name: encode_argument(item) for name, item in value.items()}
    elif dataclasses.is_dataclass(value):
        fields = (field.name for field in dataclasses.fields(value) if field.init)
        content = {name: encode_argument(getattr(value, name)) for name in fields}
    else:
        raise TypeError(f"an argument must be made of plain values and dataclasses, got {value!r}")
    return {"type": f"{kind.__module__}:{kind.__qualname__}", "content": content}


def decode_argument(value: Any) -> Any:
    """The argument that `encode_argument` wrote."""
    if isinstance(value, list):
        return [decode_argument(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    # A type of this project, or of a module that the component has imported.
    name, content = value["type"], value["content"]
    module, _, attribute = name.partition(":")
    if module.partition(".")[0] in FIRST_PARTY:
        importlib.import_module(module)
    kind = getattr(sys.modules.get(module), attribute, None)
    if not isinstance(kind, type):
        raise TypeError(f"an argument must have a type that this process knows, got {name}")
    if kind is tuple:
        return tuple(decode_argument(content))
    if issubclass(kind, Path | Artifact | enum.Enum):
        return kind(content)
    if kind is dict or dataclasses.is_dataclass(kind):
        return kind(**{name: decode_argument(item) for name, item in content.items()})
    raise TypeError(f"an argument must be made of plain values and dataclasses, got a {name}")


def move_artifacts(arguments: Mapping[str, Any], move: Callable[[Path], Path]) -> dict[str, Any]:
    """Arguments of a step with the paths of artifacts changed: machines may see the root in different places."""

    def moved(value: Any) -> Any:
        if isinstance(value, list):
            return [moved(item) for item in value]
        return type(value)(move(value.path)) if isinstance(value, Artifact) else value

    return {name: moved(value) for name, value in arguments.items()}
