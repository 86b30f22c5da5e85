"""What an artifact says of itself: counts, sizes and small files as tables, and its statistics as bars."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from components.dsl.artifact import MANIFEST
from components.dsl.errors import InputError
from pipeline.capabilities import UNLISTED_FILES
from pipeline.orchestrator.changes import flatten
from pipeline.views.terminal import cells

STATISTICS_FILE = "statistics.json"
_WIDEST_BAR = 40
_MOST = 2**63


def read_statistics(folder: Path) -> dict[str, Any]:
    """What `statistics.json` of an artifact says."""
    file = folder / STATISTICS_FILE
    content = _read(file)
    if not isinstance(content, dict) or not all(map(_is_block, content.values())):
        raise InputError(f"{file} must hold an object of tables and histograms")
    return content


def _is_block(block: Any) -> bool:
    """Whether it is a table, or a histogram with a number for each label."""
    if isinstance(block, dict):
        return True
    # Neither NaN nor infinity has a length as a bar, though JSON in Python knows both.
    return isinstance(block, list) and all(
        isinstance(bar, list) and len(bar) == 2 and isinstance(bar[1], int | float) and 0 <= bar[1] < _MOST
        for bar in block
    )


def show_statistics(statistics: Mapping[str, Any], console: Console) -> None:
    """Draws statistics: title -> a table, {label: value}, or a histogram, [[label, count], ...]."""
    for title, block in statistics.items():
        table = Table(title=cells(title)[0], title_justify="left", show_header=False)
        if isinstance(block, Mapping):
            table.add_column()
            table.add_column(justify="right")
            for label, value in block.items():
                table.add_row(*cells(str(label), format_value(value)))
        else:
            table.box = None
            table.add_column(justify="right")
            table.add_column(justify="right")
            table.add_column()
            most = max((count for _, count in block), default=0)
            for label, count in block:
                # What is there at all is seen.
                width = max(1, round(_WIDEST_BAR * count / most)) if count else 0
                table.add_row(*cells(str(label), format_value(count), "█" * width))
        console.print(table)


def format_value(value: Any) -> str:
    """A number as a person reads it: `1,234,567`, `0.1502`; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"


# Limits: bytes of a file that is shown with its values, number of values, characters of a value, number of file names.
_MOST_BYTES, _MOST_VALUES, _MOST_CHARACTERS, _MOST_FILES = 20_000, 40, 100, 20


# Files that are drawn as figures, or whose values are of no use to a reader.
_NOT_VALUES = (MANIFEST, STATISTICS_FILE, *UNLISTED_FILES, "samples.json", "answers.json")


def is_artifact(folder: Path) -> bool:
    """Whether a folder has a manifest, or statistics."""
    return any((folder / name).is_file() for name in (MANIFEST, STATISTICS_FILE))


def read_artifact(folder: Path) -> dict[str, Any]:
    """All blocks that `show_statistics` draws of an artifact: its tables, then those of its statistics, if any."""
    has_manifest, has_statistics = ((folder / name).is_file() for name in (MANIFEST, STATISTICS_FILE))
    tables = artifact_tables(folder, _NOT_VALUES) if has_manifest else {}
    return {**tables, **(read_statistics(folder) if has_statistics else {})}


def artifact_tables(folder: Path, skip: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """Title -> {label: value}; titles are `counts`, `bytes` and the names of small JSON files but those to `skip`."""
    manifest = _read(folder / MANIFEST)
    try:
        counts, sizes = flatten(manifest["counts"]), sorted(manifest["files"].items(), key=lambda item: -item[1])
    except (AttributeError, KeyError, TypeError):
        raise InputError(f"{folder / MANIFEST} must hold the counts and files of an artifact") from None
    tables: dict[str, dict[str, str]] = {
        "counts": {name: format_value(value) for name, value in counts.items()},
        "bytes": {name: format_value(size) for name, size in sizes[:_MOST_FILES]},
    }
    for name, size in manifest["files"].items():
        if name.endswith(".json") and name not in skip and size <= _MOST_BYTES:
            table = tables[name] = {}
            for key, value in [*flatten(_read(folder / name)).items()][:_MOST_VALUES]:
                text = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else format_value(value)
                table[key] = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
    return {title: table for title, table in tables.items() if table}


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
