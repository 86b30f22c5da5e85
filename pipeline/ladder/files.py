"""The files of a ladder: its values, its table, and a plot of score over size."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.views.ladder import render_ladder
from pipeline.views.pareto_plot import draw_front
from pipeline.views.reports import write_report


def write_ladder(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes `ladder.json`, `ladder.md` and the plot; returns the files."""
    return write_report("ladder", content, folder, render_ladder, draw_front)
