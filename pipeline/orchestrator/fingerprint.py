"""Fingerprints of code, and the cache key of an execution.

Code is read, never imported, so that a fully cached run does not load TensorFlow.
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
from components.files.paths import Stamp
from keras_bert.core.plugins import GROUP, find_plugins
from pipeline.orchestrator.records import Ingredients
from pipeline.orchestrator.source_code import CodeError, Import, SourceFile, read, stamp

FIRST_PARTY = ("keras_bert", "components")

# (file, stamp, package folders) -> the modules that importing the file executes.
_IMPORTED: dict[tuple[Path, Stamp | None, tuple[Path, ...]], tuple[str, ...]] = {}


class Code(NamedTuple):
    """The code of a component."""

    digest: str
    modules: Mapping[str, str]


# (component module, package folders) -> the stamps of the files that were read, and their code.
_CODES: dict[tuple[str, ...], tuple[dict[Path, Stamp | None], Code]] = {}


def execution_key(ingredients: Ingredients) -> str:
    """The cache key of an execution: equal keys mean equal results.

    `files` and `modules` are left out, because digests of them are part of `parameters` and `code`.
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
    """The ingredients of an execution's cache key; raises CodeError if a library is not installed."""
    libraries = {}
    for name in component.libraries:
        try:
            libraries[name] = _library_version(name)
        except importlib.metadata.PackageNotFoundError:
            raise CodeError(
                f"component {component.name!r} depends on the version of {name!r}, which is not installed here"
            ) from None
    return Ingredients(
        component=f"{component.module}.{component.name}",
        inputs=inputs,
        parameters=parameters,
        code=code.digest,
        libraries=libraries,
        python=".".join(map(str, sys.version_info[:2])),
        modules=code.modules,
        files=files or {},
    )


def find_code(component: Component, first_party: Sequence[str] = FIRST_PARTY) -> Code:
    """The code of a component: its module and all first-party modules that it imports, directly or indirectly.

    Comments, docstrings, layout, pages (`.md`) and imports under `TYPE_CHECKING` do not count. Imports inside
    functions, plug-ins of a kind that is asked for, and data files in packages do. Imports by a computed name
    (`importlib.import_module(name)`) cannot be followed. Repeated calls only compare the stamps of the files.
    """
    package = component.module.partition(".")[0]
    packages = {name: _package_folder(name) for name in (*first_party, package)}
    key = (component.module, *map(str, packages.values()))
    stamps, cached = _CODES.get(key, ({}, Code("", {})))
    if stamps and all(stamp(path) == previous for path, previous in stamps.items()):
        return cached
    # All first-party modules that importing the component may execute, and the data files beside them.
    files: dict[str, SourceFile] = {}
    pending = [component.module]
    while pending:
        module = pending.pop()
        if module in files:
            continue
        path = _locate(module, packages)
        if path is None:
            raise CodeError(f"module {module!r} has no Python source to fingerprint")
        files[module] = read(path, module)
        if path.name == "__init__.py":
            entries = (entry for entry in os.scandir(path.parent) if entry.is_file() and not entry.name.startswith("."))
            data = [Path(entry.path) for entry in entries if not entry.name.endswith((".py", ".pyc", ".md"))]
            files.update({f"{module}/{file.name}": read(file, module) for file in data})
        pending.extend(_imported_modules(module, files[module], packages))
    modules = {name: file.source.digest for name, file in sorted(files.items())}
    digest = hashlib.sha256()
    for name, module_digest in modules.items():
        digest.update(f"{name}\0{module_digest}\0".encode())
    code = Code(digest.hexdigest(), modules)
    if all(file.is_settled for file in files.values()):
        _CODES[key] = {file.path: file.stamp for file in files.values()}, code
    return code


def _imported_modules(module: str, file: SourceFile, packages: Mapping[str, Path]) -> tuple[str, ...]:
    """The first-party modules that importing a module executes; cached, because steps share most imports."""
    key = (file.path, file.stamp, tuple(packages.values()))
    modules = _IMPORTED.get(key)
    if modules is None:
        parent = module.rpartition(".")[0]
        imported = (name for statement in file.source.imports for name in _resolve(module, statement, packages))
        modules = tuple(dict.fromkeys([*([parent] if parent else []), *imported]))
        if file.is_settled:
            _IMPORTED[key] = modules
    return modules


def _resolve(importer: str, statement: Import, packages: Mapping[str, Path]) -> Iterator[str]:
    """The first-party modules that one import statement executes."""
    if statement.module.startswith(f"{GROUP}."):
        kind = statement.module.removeprefix(f"{GROUP}.")
        yield from sorted({entry.module for entry in find_plugins(kind).values()})
        return
    # The package of a plug-in is first-party to its own modules.
    if statement.module.partition(".")[0] not in (*packages, importer.partition(".")[0]):
        return
    where = f"{importer}, line {statement.line}"
    path = _locate(statement.module, packages)
    if path is None:
        raise CodeError(f"{where}: there is no module {statement.module!r}")
    yield statement.module
    if statement.name is None:
        return
    if statement.name == "*":
        raise CodeError(f"{where}: `from {statement.module} import *` cannot be followed; name what is imported")
    submodule = f"{statement.module}.{statement.name}"
    is_package = path.suffix != ".py" or path.name == "__init__.py"
    if is_package and _locate(submodule, packages) is not None:
        yield submodule
    elif statement.name not in read(path, statement.module).source.names and not statement.name.startswith("__"):
        raise CodeError(f"{where}: {statement.module!r} has neither a submodule nor a name {statement.name!r}")


def _locate(module: str, packages: Mapping[str, Path]) -> Path | None:
    """The file of a module; the folder of a namespace package; None if neither exists."""
    top, *rest = module.split(".")
    place = os.path.join(packages.get(top) or _plugin_folder(top), *rest)
    # Called thousands of times before a run begins; string paths take a quarter of the time.
    for candidate in (os.path.join(place, "__init__.py"), f"{place}.py"):
        if os.path.isfile(candidate):
            return Path(candidate)
    return Path(place) if os.path.isdir(place) else None


def _package_folder(name: str) -> Path:
    """The folder of a top-level package, without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:
        spec = None
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
        return Path(spec.origin).with_suffix("")
    raise CodeError(f"package {name!r} must be importable from a folder of Python source, and is not")


# Plug-ins are few packages with many imports.
_plugin_folder = functools.cache(_package_folder)
# Reading the metadata of a package takes a millisecond; most steps depend on the same ones.
_library_version = functools.cache(importlib.metadata.version)
