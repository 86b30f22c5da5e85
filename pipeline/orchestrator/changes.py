"""Compares the ingredients of two cache keys."""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pipeline.orchestrator.records import Ingredients

Kind = Literal["component", "setting", "input", "file", "module", "library", "python"]

# The tables of the job whose settings are the argument `training` of a step.
_TABLES = {"distill_general": "general_distillation", "pretrain": "pretraining"}


class Change(NamedTuple):
    """A changed ingredient; None for one that is missing on a side."""

    kind: Kind
    name: str
    old: Any
    new: Any


def find_changes(old: Ingredients, new: Ingredients) -> list[Change]:
    """The changes between two keys, the user's own changes first: settings, files, inputs, code, libraries."""
    # Fingerprints of the user's data are left out if changed files explain them.
    explained_by_files = {f"{name}.fingerprint" for name in _changed(old.files, new.files)}
    settings = _compare("setting", flatten(old.parameters), flatten(new.parameters))
    table = _TABLES.get(new.component.rpartition(".")[2], "training")
    changes = [
        change._replace(name=re.sub(r"^training\b", table, change.name))
        for change in settings
        if change.name not in explained_by_files
    ]
    changes += _compare("file", _files(old), _files(new))
    changes += _compare("input", old.inputs, new.inputs)
    changes += _compare("module", old.modules, new.modules)
    changes += _compare("library", old.libraries, new.libraries)
    changes += _compare("component", {"": old.component}, {"": new.component})
    changes += _compare("python", {"": old.python}, {"": new.python})
    return changes


def flatten(value: Any, path: str = "") -> dict[str, Any]:
    """Flattens nested mappings to dotted names; lists and plain values stay."""
    if not isinstance(value, Mapping):
        return {path: value}
    items = ((f"{path}.{key}" if path else str(key), item) for key, item in value.items())
    return {name: leaf for key, item in items for name, leaf in flatten(item, key).items()}


def _files(ingredients: Ingredients) -> dict[str, str]:
    return {file: digest for read in ingredients.files.values() for file, digest in read.items()}


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [name for name in {**old, **new} if name not in old or name not in new or old[name] != new[name]]


def _compare(kind: Kind, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    return [Change(kind, name, old.get(name), new.get(name)) for name in _changed(old, new)]
