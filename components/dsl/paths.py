"""Names that become paths below a folder, and links there; both may come from other people."""

from collections.abc import Iterator
from pathlib import Path

from components.dsl.errors import InputError


def leads_out(name: str) -> bool:
    """Whether a name with slashes may lead out of a folder: it has empty parts, `.`, `..`, backslashes or a NUL."""
    return bool({"", ".", ".."} & {*name.split("/")}) or "\\" in name or "\0" in name


def path_below(folder: Path, name: str) -> Path:
    """The path of a name below a folder, or such an absolute path itself; InputError where it may lead elsewhere."""
    name = name.removeprefix(f"{folder}/")
    if leads_out(name):
        raise InputError(f"a path in a file of {folder} must lead nowhere else, got {name!r}; use another root")
    return folder / name


def has_link(root: Path, path: Path) -> bool:
    """Whether a path below a root is a link or lies behind one."""
    return any(place.is_symlink() for place in (path, *path.parents) if place != root and place.is_relative_to(root))


def own_entries(root: Path, pattern: str) -> Iterator[Path]:
    """The files and folders of a root that match a pattern of `glob`, without links and what lies behind them."""
    return (path for path in root.glob(pattern) if not has_link(root, path))
