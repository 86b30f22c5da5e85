"""What a person sees of models that were measured: a row a model, and a report of each class."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from components.scoring.model_card import calibration_lines, format_score
from pipeline.views.terminal import cells, write

_MOST_CLASSES = 30

# Class -> what a model reaches on it.
Report = Mapping[str, Mapping[str, float]]


def show_models(measured: Mapping[str, Any], console: Console) -> None:
    """Prints all models of a run, and what the shipped one reaches on each class."""
    headings, rows = table_of(measured)
    table = Table()
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*cells(*row))
    console.print(table)
    for note in notes_of(measured):
        write(console, note)
    calibration = measured.get("calibration")
    if calibration is not None:
        temperature = calibration["temperature"]
        told = "no temperature is best" if temperature is None else f"temperature {temperature:.4f}"
        first, *others = calibration_lines(calibration)
        for line in (f"{told}: {first}", *others):
            write(console, line)
    _show_report(measured["report"], console)


def table_of(measured: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Headings, and a row a model."""
    models = measured["models"]
    names = list(next(iter(models.values()))["metrics"])
    rows = []
    for name, row in models.items():
        sizes = [f"{row[key]:.2f}" if key in row else "" for key in ("megabytes", "milliseconds")]
        rows.append([name, *(format_score(row["metrics"][metric]) for metric in names), *sizes])
    return ["model", *(name.replace("_", " ") for name in names), "MB", "ms"], rows


def notes_of(measured: Mapping[str, Any]) -> Iterator[str]:
    """What it takes to read the table, a line each."""
    seeds = len(measured["models"][measured["shipped"]]["metrics"][measured["metric"]]["seeds"])
    over = f"; mean ± standard deviation over {seeds} seeds" if seeds > 1 else ""
    yield f"on {measured['rows']['test']} test rows, x 100{over}; ms: the median for one row on one thread"


def _show_report(report: Report | None, console: Console) -> None:
    """Prints what the model reaches on each class of the test rows, if the task has classes; of many the worst."""
    if not report:
        return
    few, shown = worst_classes(report)
    table = Table(title=f"on test rows{few}", title_justify="left")
    table.add_column("class", overflow="fold")
    for heading in next(iter(report.values())):
        table.add_column(heading, justify="right")
    for name, row in shown.items():
        scores = (str(value) if key == "support" else f"{100 * value:.2f}" for key, value in row.items())
        table.add_row(*cells(name, *scores))
    console.print(table)


def worst_classes(report: Report) -> tuple[str, Report]:
    """The classes, of many the worst, in their order; and what is to be said of that."""
    worst = sorted(report, key=lambda name: report[name]["f1"])[:_MOST_CLASSES]
    if len(worst) == len(report):
        return "", report
    told = f", the worst {len(worst)} of {len(report)} classes"
    return told, {name: row for name, row in report.items() if name in set(worst)}
