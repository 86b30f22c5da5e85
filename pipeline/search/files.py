"""The files of a search: its values, its tables, and the job with the best settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.job.files import Tables
from pipeline.search.space import apply_values
from pipeline.settings.toml_text import format_tables
from pipeline.views.pareto_plot import draw_front
from pipeline.views.reports import write_report
from pipeline.views.shrink import render_search
from pipeline.views.tune import render_tuning

WINNER_FILE = "winner.toml"


def write_tuning(content: Mapping[str, Any], tables: Tables, folder: Path) -> list[Path]:
    """Writes `tune.json`, `tune.md` and `winner.toml`, a whole job; returns the files.

    Args:
        content: the result of the search.
        tables: the tables of the job.
        folder: the folder of the search.
    """
    winner = apply_values({name: table for name, table in tables.items() if name != "tune"}, content["values"])
    file = folder / WINNER_FILE
    files = write_report("tune", content, folder, render_tuning)
    file.write_text(format_tables(winner), encoding="utf-8")
    return [*files, file]


def write_search(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes `shrink.json`, `shrink.md` and the plot; returns the files."""
    return write_report("shrink", content, folder, render_search, draw_front)
