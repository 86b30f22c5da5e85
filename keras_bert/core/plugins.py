"""Plug-ins: objects that packages register by entry points, see docs/guides/extend.md."""

import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "keras_bert_edge"


def find_plugins(kind: str) -> dict[str, "EntryPoint"]:
    """Name -> entry point of the plug-ins of a kind, such as "trackers"; none of them is imported.

    The metadata of a package may name a plug-in whose folder was removed, which then counts as not installed. Where the
    kind is a literal, cache keys of steps that call this function follow it to the code of the plug-ins.
    """
    # Its import takes some 40 ms, which most commands do not need.
    from importlib.metadata import entry_points

    entries = entry_points(group=f"{GROUP}.{kind}")
    return {entry.name: entry for entry in entries if _has_package(entry.module)}


def _has_package(module: str) -> bool:
    # Of one plug-in the folder may be gone while others are there, in the package around both.
    try:
        return importlib.util.find_spec(module.rpartition(".")[0] or module) is not None
    except ModuleNotFoundError:
        return False


def load_plugin(kind: str, name: str, field: str) -> Any:
    """The object of a plug-in that a user names in a field."""
    plugins = find_plugins(kind)
    if name not in plugins:
        names = ", ".join(sorted(plugins)) or "none"
        raise ValueError(
            f"{field} must be one of the {kind} that are installed ({names}), got {name!r}; install a package with an "
            f"entry point of this name in the group '{GROUP}.{kind}'"
        )
    return plugins[name].load()
