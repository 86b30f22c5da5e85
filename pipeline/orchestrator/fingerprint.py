"""Fingerprints of code, and the key under which an execution is found again.

All of it is read, nothing is imported: a run in which every step is cached never loads TensorFlow.
"""

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.component import Component
from pipeline.orchestrator.records import Ingredients
from pipeline.orchestrator.source_code import CodeError, Import, Read, Stamp, read, stamp

FIRST_PARTY = ("keras_bert", "components")

# A file as it was, and where the packages lie -> the modules that importing it executes.
_FOLLOWED: dict[tuple[Path, Stamp | None, tuple[Path, ...]], tuple[str, ...]] = {}


class Code(NamedTuple):
    """The code behind a component.

    Attributes:
        digest: of all of it.
        modules: the digest of each module, and of each file beside the modules of a package.
    """

    digest: str
    modules: Mapping[str, str]


# What was asked -> the stamps of the files that were read, and the answer.
_FOUND: dict[tuple[str, ...], tuple[dict[Path, Stamp | None], Code]] = {}


def execution_key(ingredients: Ingredients) -> str:
    """The key of one execution: the same key means the same result.

    Files do not count by themselves: the parameters hold the digest of what is read of them. Nor do modules: the code's
    digest is theirs.
    """
    identity = {
        "component": ingredients.component.rsplit(".", 1),
        "inputs": dict(ingredients.inputs),
        "parameters": dict(ingredients.parameters),
        "code": ingredients.code,
        "libraries": dict(ingredients.libraries),
        "python": [int(part) for part in ingredients.python.split(".")],
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def find_ingredients(
    component: Component,
    inputs: Mapping[str, str | None],
    parameters: Mapping[str, Any],
    code: Code,
    files: Mapping[str, Mapping[str, str]] | None = None,
) -> Ingredients:
    """What the key of an execution is made of.

    Args:
        component: what runs.
        inputs: the content fingerprint of each input, None for an optional one that is absent.
        parameters: the canonical form of each parameter (`components.dsl.canonical.canonical`), without `Local` ones.
        code: the component's `find_code`.
        files: of each parameter that stands for data of the user's: file -> digest.
    """
    return Ingredients(
        component=f"{component.module}.{component.name}",
        inputs=inputs,
        parameters=parameters,
        code=code.digest,
        libraries={name: _library_version(component.name, name) for name in component.libraries},
        python=".".join(map(str, sys.version_info[:2])),
        modules=code.modules,
        files=files or {},
    )


def find_code(component: Component, first_party: Sequence[str] = FIRST_PARTY) -> Code:
    """The code behind a component: its module and all first-party modules that it imports, as digests.

    Comments, docstrings and layout do not count. Imports inside functions do, and so do files beside the modules of a
    package; imports by a computed name (`importlib.import_module(name)`) cannot be seen. Asked again, as before each
    step, it looks at the times and sizes of the files that it has read.

    Args:
        component: its own package counts as first-party, too.
        first_party: names of the top-level packages to follow.

    Raises:
        CodeError: a module has no source, does not parse, or imports what a first-party package lacks.
    """
    package = component.module.partition(".")[0]
    packages = {name: _package_folder(name) for name in (*first_party, package)}
    asked = (component.module, *map(str, packages.values()))
    stamps, known = _FOUND.get(asked, ({}, Code("", {})))
    if stamps and all(stamp(path) == before for path, before in stamps.items()):
        return known
    found = _closure(component.module, packages)
    modules = {name: read.source.digest for name, read in sorted(found.items())}
    digest = hashlib.sha256()
    for name, own in modules.items():
        digest.update(f"{name}\0{own}\0".encode())
    code = Code(digest.hexdigest(), modules)
    _FOUND[asked] = {read.path: read.stamp for read in found.values()}, code
    return code


def _closure(start: str, packages: Mapping[str, Path]) -> dict[str, Read]:
    """All first-party modules that importing `start` may execute, by name."""
    found: dict[str, Read] = {}
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        path = _locate(module, packages)
        if path is None:
            raise CodeError(f"module {module!r} has no Python source to fingerprint")
        found[module] = read(path, module)
        found.update({f"{module}/{file.name}": read(file, module) for file in _data_files(path)})
        waiting.extend(_follow(module, found[module], packages))
    return found


def _data_files(path: Path) -> list[Path]:
    """What lies in a package, whose `__init__.py` is given, besides code: its modules may read it."""
    if path.name != "__init__.py":
        return []
    entries = (entry for entry in os.scandir(path.parent) if entry.is_file() and not entry.name.startswith("."))
    return [Path(entry.path) for entry in entries if not entry.name.endswith((".py", ".pyc"))]


def _follow(module: str, code: Read, packages: Mapping[str, Path]) -> tuple[str, ...]:
    """The first-party modules that importing a module executes besides itself; steps import much the same."""
    known = (code.path, code.stamp, tuple(packages.values()))
    if known not in _FOLLOWED:
        parent = module.rpartition(".")[0]
        imported = (name for wanted in code.source.imports for name in _resolve(module, wanted, packages))
        _FOLLOWED[known] = tuple(dict.fromkeys([*([parent] if parent else []), *imported]))
    return _FOLLOWED[known]


def _resolve(importer: str, wanted: Import, packages: Mapping[str, Path]) -> Iterator[str]:
    """The first-party modules that one import statement executes."""
    if wanted.module.partition(".")[0] not in packages:
        return
    where = f"{importer}, line {wanted.line}"
    path = _locate(wanted.module, packages)
    if path is None:
        raise CodeError(f"{where}: there is no module {wanted.module!r}")
    yield wanted.module
    if wanted.name is None:
        return
    if wanted.name == "*":
        raise CodeError(f"{where}: `from {wanted.module} import *` cannot be followed; name what is imported")
    submodule = f"{wanted.module}.{wanted.name}"
    if _locate(submodule, packages) is not None:
        yield submodule
    elif wanted.name not in read(path, wanted.module).source.names and not wanted.name.startswith("__"):
        raise CodeError(f"{where}: {wanted.module!r} has neither a submodule nor a name {wanted.name!r}")


def _locate(module: str, packages: Mapping[str, Path]) -> Path | None:
    """The file of a module; the folder itself for a package without `__init__.py`; None if there is neither."""
    top, *rest = module.split(".")
    place = os.path.join(packages[top], *rest)
    # Asked thousands of times before a run begins: paths as strings take a quarter of the time.
    for candidate in (os.path.join(place, "__init__.py"), f"{place}.py"):
        if os.path.isfile(candidate):
            return Path(candidate)
    return Path(place) if os.path.isdir(place) else None


def _package_folder(name: str) -> Path:
    """Where a top-level package lies; looking for it does not import it."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:
        spec = None
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
        return Path(spec.origin).with_suffix("")
    raise CodeError(f"package {name!r} must be importable from a folder of Python source, and is not")


@functools.cache
def _library_version(component: str, library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        raise CodeError(
            f"component {component!r} depends on the version of {library!r}, which is not installed here"
        ) from None
