"""The files of a search: its values, its tables, a plot of candidates, and the job with the best settings."""

from pathlib import Path

from pipeline.job.files import Tables
from pipeline.search.results import SettingsResult, StudentResult, as_json
from pipeline.search.settings_tables import render_settings
from pipeline.search.space import apply_values
from pipeline.search.student_tables import render_student
from pipeline.settings.toml_text import format_tables
from pipeline.views.pareto_plot import draw_front
from pipeline.views.reports import write_report

WINNER_FILE = "winner.toml"


def write_settings(result: SettingsResult, tables: Tables, folder: Path) -> list[Path]:
    """Writes `search.json`, `search.md` and `winner.toml`, a whole job made of the job's tables; returns the files."""
    winner = apply_values({name: table for name, table in tables.items() if name != "tune"}, result.values)
    file = folder / WINNER_FILE
    files = write_report("search", as_json(result), folder, render_settings(result))
    file.write_text(format_tables(winner), encoding="utf-8")
    return [*files, file]


def write_student(result: StudentResult, folder: Path) -> list[Path]:
    """Writes `search.json`, `search.md` and the plot of the Pareto front; returns the files."""
    return write_report("search", as_json(result), folder, render_student(result), draw_front)
