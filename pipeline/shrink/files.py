"""Writes the files of a search: values, table and a plot of the Pareto front."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.views.pareto_plot import draw_front
from pipeline.views.reports import write_report
from pipeline.views.shrink import render_search


def write_search(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes `shrink.json`, `shrink.md` and the plot; returns the files."""
    return write_report("shrink", content, folder, render_search, draw_front)
