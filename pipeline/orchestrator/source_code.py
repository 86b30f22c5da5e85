"""Parses Python source files without importing them, and caches the result between processes."""

import ast
import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from components.files.paths import Stamp
from keras_bert.core.folders import write_whole
from keras_bert.core.plugins import GROUP, find_plugins, load_plugin


class CodeError(Exception):
    """The code of a step cannot be analyzed: it does not parse, or an import or a library is missing."""


class Import(NamedTuple):
    """One name that a module imports: `import module` (name is None) or `from module import name`.

    A call of `find_plugins` or `load_plugin` with a literal is an import of its group of entry points.
    """

    module: str
    name: str | None
    line: int


class ModuleSource(NamedTuple):
    """The analysis of a module: the digest of its code, its imports and the names that it binds."""

    digest: str
    imports: tuple[Import, ...]
    names: frozenset[str]


class SourceFile(NamedTuple):
    """An analyzed file; `is_settled`: whether any later change would change the stamp."""

    path: Path
    stamp: Stamp | None
    source: ModuleSource
    is_settled: bool = True


# (file, module name, stamp) -> analysis.
_SOURCES: dict[tuple[str, str, Stamp], ModuleSource] = {}

# File of a cache -> the number of analyses in it.
_SAVED: dict[Path, int] = {}

# A namespace package (a folder without `__init__.py`) has no code.
_FOLDER = Stamp(0, 0, 0, 0)
_EMPTY = ModuleSource("", (), frozenset())


def stamp(path: Path) -> Stamp | None:
    """The stamp of a file; a constant for all folders; None if the path does not exist."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return _FOLDER if stat.S_ISDIR(status.st_mode) else Stamp.of(status)


def read(path: Path, module: str) -> SourceFile:
    """Analyzes a file; parses it again only if it may have changed. Files other than `.py` count by their bytes."""
    current = stamp(path)
    if current is None or current == _FOLDER:
        return SourceFile(path, current, _EMPTY)
    key, is_settled = (str(path), module, current), current.is_settled()
    source = _SOURCES.get(key)
    if source is None:
        is_code = path.suffix == ".py"
        source = _parse(path, module) if is_code else _EMPTY._replace(digest=_digest(path.read_bytes()))
        if is_settled:
            _SOURCES[key] = source
    return SourceFile(path, current, source, is_settled)


def load_cache(file: Path) -> None:
    """Loads the cache that `save_cache` wrote; ignores one of another Python or analyzer, and a missing one."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        content = json.loads(file.read_bytes())
        if content["analyzer"] == _analyzer():
            for path, module, file_stamp, digest, imports, names in content["sources"]:
                source = ModuleSource(digest, tuple(Import(*fields) for fields in imports), frozenset(names))
                _SOURCES[path, module, Stamp(*file_stamp)] = source
            _SAVED[file] = len(content["sources"])


def save_cache(file: Path) -> None:
    """Saves the analysis of all unchanged files for `load_cache` in another process; does nothing on a full disk."""
    if _SAVED.get(file) == len(_SOURCES):
        return
    sources = [
        (path, module, file_stamp, source.digest, source.imports, sorted(source.names))
        for (path, module, file_stamp), source in _SOURCES.items()
        if stamp(Path(path)) == file_stamp
    ]
    with contextlib.suppress(OSError):
        write_whole(file, {"analyzer": _analyzer(), "sources": sources})


def _analyzer() -> str:
    """Identifies this module and the Python version, because digests depend on both."""
    return _digest(Path(__file__).read_bytes() + sys.version.encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _parse(path: Path, module: str) -> ModuleSource:
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError) as error:
        raise CodeError(f"{path} cannot be parsed: {error}") from error
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    imports: list[Import] = []
    names: set[str] = set()
    # An unambiguous serialization of the syntax tree: node types have a fixed number of fields, lists start with their
    # length, and nested nodes leave an empty text and follow later. `ast.dump` is equivalent but slower, and parsing is
    # most of the time of a fully cached run.
    serialized: list[str] = []
    pending: list[Any] = [tree]
    while pending:
        part = pending.pop()
        kind = part.__class__
        if kind is list:
            serialized.append(f"[{len(part)}")
            pending += part
            continue
        if kind is ast.If and "TYPE_CHECKING" in (getattr(part.test, "attr", None), getattr(part.test, "id", None)):
            # Never runs, so that a change of only types runs no step again.
            part.body = []
        if kind in _ANALYZED:
            imports.extend(_imports(part, package))
            names.update(_bound_names(part))
            _strip(part)
        fields = _FIELDS.get(kind)
        serialized.append(repr(part) if fields is None else kind.__name__)
        for field in fields or ():
            value = getattr(part, field, None)
            nested = value.__class__ is list or value.__class__ in _FIELDS
            serialized.append("" if nested else repr(value))
            if nested:
                pending.append(value)
    return ModuleSource(_digest("\0".join(serialized).encode()), tuple(imports), frozenset(names))


# `ctx` (load or store) follows from the position of a name.
_FIELDS = {
    kind: tuple(field for field in kind._fields if field != "ctx")
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}

# Types of nodes that import or bind names, or have a docstring.
_ANALYZED = frozenset(
    (
        *(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.Call),
        *(ast.Name, ast.alias),
    )
)
_PLUGIN_CALLS = (find_plugins.__name__, load_plugin.__name__)


def _strip(node: ast.AST) -> None:
    """Removes statements that are strings, as docstrings, and the arguments of `@component`.

    The versions of a component's libraries are in the key already, and its kind changes no result.
    """
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        values = [statement.value if isinstance(statement, ast.Expr) else None for statement in node.body]
        strings = [isinstance(value, ast.Constant) and isinstance(value.value, str) for value in values]
        node.body = [statement for statement, is_string in zip(node.body, strings, strict=True) if not is_string]
    for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", None) == "component":
            decorator.keywords = []


def _imports(node: ast.AST, package: str) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, None, node.lineno)
    elif isinstance(node, ast.Call):
        kind = getattr(node.args[0], "value", None) if node.args else None
        if getattr(node.func, "id", None) in _PLUGIN_CALLS and isinstance(kind, str):
            yield Import(f"{GROUP}.{kind}", None, node.lineno)
    elif isinstance(node, ast.ImportFrom):
        base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            yield Import(module, alias.name, node.lineno)


def _bound_names(node: ast.AST) -> Iterator[str]:
    """Names that a node may bind; local names of functions are included, which does no harm."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
