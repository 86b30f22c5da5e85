"""In which ingredients two keys differ."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pipeline.orchestrator.records import Ingredients

Kind = Literal["component", "setting", "input", "file", "module", "library", "python"]


class Change(NamedTuple):
    """One ingredient; None stands for one that is or was not there."""

    kind: Kind
    name: str
    old: Any
    new: Any


def find_changes(old: Ingredients, new: Ingredients) -> list[Change]:
    """What is other than it was, what a user does first: settings, the user's files, inputs, code, libraries."""
    found = [*_settings(old, new)]
    found += _compare("file", _files(old), _files(new))
    found += _compare("input", old.inputs, new.inputs)
    found += _compare("module", old.modules, new.modules)
    found += _compare("library", old.libraries, new.libraries)
    found += _compare("component", {"": old.component}, {"": new.component})
    found += _compare("python", {"": old.python}, {"": new.python})
    return found


def flatten(value: Any, path: str = "") -> dict[str, Any]:
    """Dotted names -> plain values and lists."""
    if not isinstance(value, Mapping):
        return {path: value}
    inside = ((f"{path}.{key}" if path else str(key), item) for key, item in value.items())
    return {name: item for key, each in inside for name, item in flatten(each, key).items()}


def _settings(old: Ingredients, new: Ingredients) -> Iterator[Change]:
    """Those of parameters; the digest of the user's data is told by its files, unless other settings are in it."""
    told_by_files = {f"{name}.fingerprint" for name in _changed(old.files, new.files)}
    for change in _compare("setting", flatten(old.parameters), flatten(new.parameters)):
        if change.name not in told_by_files:
            yield change


def _files(ingredients: Ingredients) -> dict[str, str]:
    return {file: digest for read in ingredients.files.values() for file, digest in read.items()}


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [name for name in {**old, **new} if name not in old or name not in new or old[name] != new[name]]


def _compare(kind: Kind, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    return [Change(kind, name, old.get(name), new.get(name)) for name in _changed(old, new)]
