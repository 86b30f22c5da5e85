"""What any artifact says of itself: counts, sizes and the values of its small files, as tables."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from components.dsl.artifact import MANIFEST
from components.dsl.errors import InputError
from pipeline.capabilities import UNLISTED_FILES
from pipeline.orchestrator.changes import flatten
from pipeline.views.statistics import STATISTICS_FILE, format_value, read_statistics

# Limits: bytes of a file that is shown with its values, number of values, characters of a value, number of file names.
_MOST_BYTES, _MOST_VALUES, _MOST_CHARACTERS, _MOST_FILES = 20_000, 40, 100, 20


# Files that are drawn as figures, or whose values are of no use to a reader.
_NOT_VALUES = (MANIFEST, STATISTICS_FILE, *UNLISTED_FILES, "samples.json", "answers.json")


def is_artifact(folder: Path) -> bool:
    """Whether a folder has a manifest, or statistics."""
    return any((folder / name).is_file() for name in (MANIFEST, STATISTICS_FILE))


def read_artifact(folder: Path) -> dict[str, Any]:
    """All blocks that `show_statistics` draws of an artifact: its tables, then those of its statistics, if it has any.

    Raises:
        InputError: a file of the artifact cannot be read.
    """
    has_manifest, has_statistics = ((folder / name).is_file() for name in (MANIFEST, STATISTICS_FILE))
    tables = artifact_tables(folder, _NOT_VALUES) if has_manifest else {}
    return {**tables, **(read_statistics(folder) if has_statistics else {})}


def artifact_tables(folder: Path, skip: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """Title -> {label: value}; titles are `counts`, `bytes` and the names of small JSON files.

    Args:
        folder: of an artifact.
        skip: files whose values are left out.

    Raises:
        InputError: the manifest, or a small file, is missing or cannot be read.
    """
    manifest = _read(folder / MANIFEST)
    try:
        counts, sizes = flatten(manifest["counts"]), sorted(manifest["files"].items(), key=lambda item: -item[1])
    except (AttributeError, KeyError, TypeError):
        raise InputError(f"{folder / MANIFEST} must hold the counts and files of an artifact") from None
    tables: dict[str, Mapping[str, str]] = {
        "counts": {name: format_value(value) for name, value in counts.items()},
        "bytes": {name: format_value(size) for name, size in sizes[:_MOST_FILES]},
    }
    for name, size in manifest["files"].items():
        if name.endswith(".json") and name not in skip and size <= _MOST_BYTES:
            values = flatten(_read(folder / name))
            tables[name] = {key: _shorten(value) for key, value in [*values.items()][:_MOST_VALUES]}
    return {title: dict(table) for title, table in tables.items() if table}


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None


def _shorten(value: Any) -> str:
    text = format_value(value) if not isinstance(value, list) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
