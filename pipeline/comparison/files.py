"""The files of a comparison: its values, its table, and a plot of its losses."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.views.comparison import render_comparison
from pipeline.views.loss_plot import draw_losses
from pipeline.views.reports import write_report


def write_comparison(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes `comparison.json`, `comparison.md` and, if there was a pre-training, the plot; returns the files."""
    return write_report("comparison", content, folder, render_comparison, draw_losses)
