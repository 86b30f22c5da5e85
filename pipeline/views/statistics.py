"""Statistics of an artifact for a person: tables, and histograms as bars."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from components.dsl.errors import InputError
from pipeline.views.terminal import cells

STATISTICS_FILE = "statistics.json"
_WIDEST_BAR = 40
_MOST = 2**63


def read_statistics(folder: Path) -> dict[str, Any]:
    """What `statistics.json` of an artifact says.

    Raises:
        InputError: the folder has no such file, or it cannot be read.
    """
    file = folder / STATISTICS_FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    if not isinstance(content, dict) or not all(map(_is_block, content.values())):
        raise InputError(f"{file} must hold an object of tables and histograms")
    return content


def _is_block(block: Any) -> bool:
    """Whether it is a table, or a histogram with a number for each label."""
    if isinstance(block, dict):
        return True
    bars = block if isinstance(block, list) else [None]
    return all(isinstance(bar, list) and len(bar) == 2 and _is_count(bar[1]) for bar in bars)


def _is_count(value: Any) -> bool:
    # Neither NaN nor infinity has a length as a bar, though JSON in Python knows both.
    return isinstance(value, int | float) and 0 <= value < _MOST


def show_statistics(statistics: Mapping[str, Any], console: Console) -> None:
    """Draws statistics, block by block.

    Args:
        statistics: title -> a table, {label: value}, or a histogram, [[label, count], ...].
        console: where to draw.
    """
    for title, block in statistics.items():
        console.print(_draw_table(title, block) if isinstance(block, Mapping) else _draw_histogram(title, block))


def _draw_table(title: str, block: Mapping[str, Any]) -> Table:
    table = Table(title=cells(title)[0], title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for label, value in block.items():
        table.add_row(*cells(str(label), format_value(value)))
    return table


def _draw_histogram(title: str, block: Sequence[Sequence[Any]]) -> Table:
    table = Table(title=cells(title)[0], title_justify="left", show_header=False, box=None)
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column()
    most = max((count for _, count in block), default=0)
    for label, count in block:
        # What is there at all is seen.
        width = max(1, round(_WIDEST_BAR * count / most)) if count else 0
        table.add_row(*cells(str(label), format_value(count), "█" * width))
    return table


def format_value(value: Any) -> str:
    """A number as a person reads it: `1,234,567`, `0.1502`; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
