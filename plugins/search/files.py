"""The files of a search: its values, its tables, a plot of candidates, and the job with the winner's settings."""

from collections.abc import Mapping
from pathlib import Path

from components.dsl.artifact import as_plain
from pipeline.job.files import Tables, merge_tables
from pipeline.settings.toml_text import format_key, format_pair
from pipeline.views.pareto_plot import draw_front
from pipeline.views.reports import write_report
from plugins.search.results import AnyResult, StudentResult
from plugins.search.space import apply_values
from plugins.search.tables import render_search

WINNER_FILE = "winner.toml"


def write_search(result: AnyResult, tables: Tables, folder: Path) -> list[Path]:
    """Writes `search.json`, `search.md`, a plot of candidates, and `winner.toml`, a whole job made of the job's tables.

    Returns the files; without a winner there is no job.
    """
    draw = draw_front if isinstance(result, StudentResult) else None
    files = write_report("search", as_plain(vars(result)), folder, render_search(result), draw)
    winner = {name: table for name, table in tables.items() if name != "search"}
    if not isinstance(result, StudentResult):
        winner = apply_values(winner, result.values)
    elif result.winner:
        winner = merge_tables(winner, result.tables)
    else:
        return files
    file = folder / WINNER_FILE
    file.write_text(format_job(winner), encoding="utf-8")
    return [*files, file]


def format_job(tables: Tables) -> str:
    """The text of a job file: values first, then a section for each table."""
    lines = [format_pair(key, value) for key, value in tables.items() if not isinstance(value, Mapping)]
    for name, table in tables.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{format_key(name)}]", *(format_pair(*pair) for pair in table.items())]
    return "\n".join(lines).lstrip("\n") + "\n"
