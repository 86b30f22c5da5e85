"""Fingerprints of code, and the key under which an execution is found again.

All of it is read, nothing is imported: a run in which every step is cached never loads TensorFlow.
"""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.component import Component

FIRST_PARTY = ("keras_bert", "components")

# Of a file: when it was changed last, in nanoseconds, and its bytes.
Stamp = tuple[int, int]


class FingerprintError(Exception):
    """The code of a component cannot be followed: an import that leads nowhere, a library that is missing."""


class Import(NamedTuple):
    """One name that a module imports: `import module` (name is None) or `from module import name`."""

    module: str
    name: str | None
    line: int


class Source(NamedTuple):
    """What a module's file says: the digest of its code, what it imports and which names it binds."""

    digest: str
    imports: tuple[Import, ...]
    names: frozenset[str]


def execution_key(
    component: Component, inputs: Mapping[str, str | None], parameters: Mapping[str, Any], code: str
) -> str:
    """The key of one execution: the same key means the same result.

    Args:
        component: what runs.
        inputs: the content fingerprint of each input, None for an optional one that is absent.
        parameters: the canonical form of each parameter (`components.dsl.canonical.canonical`), without `Local` ones.
        code: the component's `code_fingerprint`.
    """
    identity = {
        "component": [component.module, component.name],
        "inputs": dict(inputs),
        "parameters": dict(parameters),
        "code": code,
        "libraries": {name: _library_version(component.name, name) for name in component.libraries},
        "python": sys.version_info[:2],
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def code_fingerprint(component: Component, first_party: Sequence[str] = FIRST_PARTY) -> str:
    """The digest of the code behind a component: its module and all first-party modules that it imports.

    Comments, docstrings and layout do not count. Imports inside functions do; imports by a computed name
    (`importlib.import_module(name)`) cannot be seen. Asked again, as before each step, it looks at the times and sizes
    of the files that it has read.

    Args:
        component: its own package counts as first-party, too.
        first_party: names of the top-level packages to follow.

    Raises:
        FingerprintError: a module has no source, does not parse, or imports what a first-party package lacks.
    """
    own = component.module.partition(".")[0]
    packages = {name: _package_folder(name) for name in (*first_party, own)}
    asked = (component.module, *map(str, packages.values()))
    stamps, known = _FINGERPRINTS.get(asked, ({}, ""))
    if stamps and all(_stamp(path) == stamp for path, stamp in stamps.items()):
        return known
    found = _closure(component.module, packages)
    digest = hashlib.sha256()
    for name, read in sorted(found.items()):
        digest.update(f"{name}\0{read.source.digest}\0".encode())
    _FINGERPRINTS[asked] = {read.path: read.stamp for read in found.values()}, digest.hexdigest()
    return digest.hexdigest()


# What was asked -> the stamps of the files that were read, and the answer.
_FINGERPRINTS: dict[tuple[str, ...], tuple[dict[Path, Stamp | None], str]] = {}


def _stamp(path: Path) -> Stamp | None:
    """What changes when a file does; None where there is none. A folder of modules has no code itself."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return (0, 0) if stat.S_ISDIR(status.st_mode) else (status.st_mtime_ns, status.st_size)


class Read(NamedTuple):
    """A file, what it was when it was read, and what it says."""

    path: Path
    stamp: Stamp | None
    source: Source


def _closure(start: str, packages: Mapping[str, Path]) -> dict[str, Read]:
    """All first-party modules that importing `start` may execute, by name."""
    found: dict[str, Read] = {}
    # Most modules import the same few names.
    resolved: set[tuple[str, str | None]] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        parent = module.rpartition(".")[0]
        if parent and parent not in found:
            waiting.append(parent)
        if module in found:
            continue
        path = _locate(module, packages)
        if path is None:
            raise FingerprintError(f"module {module!r} has no Python source to fingerprint")
        found[module] = _read(path, module)
        for wanted in found[module].source.imports:
            if (wanted.module, wanted.name) not in resolved:
                waiting.extend(_resolve(module, wanted, packages))
                resolved.add((wanted.module, wanted.name))
    return found


def _resolve(importer: str, wanted: Import, packages: Mapping[str, Path]) -> Iterator[str]:
    """The first-party modules that one import statement executes."""
    if wanted.module.partition(".")[0] not in packages:
        return
    where = f"{importer}, line {wanted.line}"
    path = _locate(wanted.module, packages)
    if path is None:
        raise FingerprintError(f"{where}: there is no module {wanted.module!r}")
    yield wanted.module
    if wanted.name is None:
        return
    if wanted.name == "*":
        raise FingerprintError(f"{where}: `from {wanted.module} import *` cannot be followed; name what is imported")
    submodule = f"{wanted.module}.{wanted.name}"
    if _locate(submodule, packages) is not None:
        yield submodule
    elif wanted.name not in _read(path, wanted.module).source.names and not wanted.name.startswith("__"):
        raise FingerprintError(f"{where}: {wanted.module!r} has neither a submodule nor a name {wanted.name!r}")


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
    raise FingerprintError(f"package {name!r} must be importable from a folder of Python source, and is not")


def _read(path: Path, module: str) -> Read:
    """Reads a file; it is parsed again only when it has changed."""
    stamp = _stamp(path)
    return Read(path, stamp, Source("", (), frozenset()) if path.is_dir() else _parse(path, module, stamp))


@functools.cache
def _parse(path: Path, module: str, _: Stamp | None) -> Source:
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError) as error:
        raise FingerprintError(f"{path} cannot be parsed: {error}") from error
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    imports: list[Import] = []
    names: set[str] = set()
    # A kind of node has so many fields, a list tells how many parts it has, and for a part with parts of its own, which
    # comes later, there is an empty text: nothing else is described alike. `ast.dump` says the same, but takes longer,
    # and this is most of a run that finds all of its steps done.
    described: list[str] = []
    waiting: list[Any] = [tree]
    while waiting:
        part = waiting.pop()
        kind = part.__class__
        if kind is list:
            described.append(f"[{len(part)}")
            waiting += part
            continue
        if kind in _NOTED:
            imports.extend(_imports(part, package))
            names.update(_bound_names(part))
            _strip_docstring(part)
        fields = _FIELDS.get(kind)
        described.append(repr(part) if fields is None else kind.__name__)
        for field in fields or ():
            value = getattr(part, field, None)
            nested = value.__class__ is list or value.__class__ in _FIELDS
            described.append("" if nested else repr(value))
            if nested:
                waiting.append(value)
    digest = hashlib.sha256("\0".join(described).encode()).hexdigest()
    return Source(digest, tuple(imports), frozenset(names))


# Whether a name is read or written follows from where it stands.
_FIELDS = {
    kind: tuple(field for field in kind._fields if field != "ctx")
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}

# Kinds of nodes that import or bind something, or begin with a docstring.
_NOTED = frozenset(
    (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.Name, ast.alias)
)


def _strip_docstring(node: ast.AST) -> None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            del node.body[0]


def _imports(node: ast.AST, package: str) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, None, node.lineno)
    elif isinstance(node, ast.ImportFrom):
        base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            yield Import(module, alias.name, node.lineno)


def _bound_names(node: ast.AST) -> Iterator[str]:
    """Names that a statement may bind; names local to a function are let through, they do no harm."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]


@functools.cache
def _library_version(component: str, library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        raise FingerprintError(
            f"component {component!r} depends on the version of {library!r}, which is not installed here"
        ) from None
