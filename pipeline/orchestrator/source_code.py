"""What files of Python source say, read without importing them, and remembered from one process to the next."""

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


class CodeError(Exception):
    """Code cannot be followed: it does not parse, an import leads nowhere, a library is missing."""


class Stamp(NamedTuple):
    """What changes when a file does: the time of its last change, in nanoseconds, and its bytes."""

    changed: int
    size: int


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


class Read(NamedTuple):
    """A file, what it was before it was read, and what it says."""

    path: Path
    stamp: Stamp | None
    source: Source


# A file, the module that it is, and its stamp -> what it said.
_SOURCES: dict[tuple[str, str, Stamp], Source] = {}

# A folder of modules without `__init__.py` has no code itself.
_FOLDER = Stamp(0, 0)
_NOTHING = Source("", (), frozenset())


def stamp(path: Path) -> Stamp | None:
    """The stamp of a file, one and the same for all folders; None where there is neither."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return _FOLDER if stat.S_ISDIR(status.st_mode) else Stamp(status.st_mtime_ns, status.st_size)


def read(path: Path, module: str) -> Read:
    """Reads a file; it is parsed again only when it has changed. One that is no code says its bytes.

    Raises:
        CodeError: it does not parse.
    """
    found = stamp(path)
    if found is None or found == _FOLDER:
        return Read(path, found, _NOTHING)
    known = (str(path), module, found)
    if known not in _SOURCES:
        is_code = path.suffix == ".py"
        _SOURCES[known] = _parse(path, module) if is_code else _NOTHING._replace(digest=_digest(path.read_bytes()))
    return Read(path, found, _SOURCES[known])


def recall(file: Path) -> None:
    """Takes over what `remember` wrote; nothing if this is another Python or other code, or if nothing was written."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        content = json.loads(file.read_bytes())
        if content["reader"] == _reader():
            for path, module, found, digest, imports, names in content["sources"]:
                source = Source(digest, tuple(Import(*each) for each in imports), frozenset(names))
                _SOURCES[path, module, Stamp(*found)] = source


def remember(file: Path) -> None:
    """Writes what is known of files that are as they were, for `recall` in another process; nothing on a full disk."""
    sources = [
        (path, module, found, source.digest, source.imports, sorted(source.names))
        for (path, module, found), source in _SOURCES.items()
        if stamp(Path(path)) == found
    ]
    staging = file.with_name(f"{file.name}.new")
    with contextlib.suppress(OSError):
        staging.write_text(json.dumps({"reader": _reader(), "sources": sources}))
        staging.replace(file)


def _reader() -> str:
    """What a digest depends on besides the code that it is of: this module, and how this Python parses."""
    return _digest(Path(__file__).read_bytes() + sys.version.encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _parse(path: Path, module: str) -> Source:
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError) as error:
        raise CodeError(f"{path} cannot be parsed: {error}") from error
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
    return Source(_digest("\0".join(described).encode()), tuple(imports), frozenset(names))


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
