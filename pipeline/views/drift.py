"""Rows held against what a model learnt from, as a table."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from components.examples.drift import Drift
from pipeline.views.terminal import cells


def show_differences(differences: Sequence[Drift], console: Console) -> None:
    """Draws a table with a line for each property, and a verdict on each."""
    table = Table()
    for heading in ("property", "training rows", "these rows", "measure, and its limit", "verdict"):
        table.add_column(heading)
    for row in differences:
        verdict = "differs" if row.differs else "as before"
        table.add_row(*cells(row.name, row.expected, row.got, row.measure, verdict))
    console.print(table)
