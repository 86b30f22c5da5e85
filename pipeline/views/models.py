"""What a person sees of models that were measured: a row a model or task, and a report of each class."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from components.scoring.model_card import format_score
from pipeline.views.terminal import cells, format_seconds, write

_MOST_CLASSES = 30


class TaskResult(NamedTuple):
    """What became of one settings file.

    Attributes:
        name: of the file, without `.toml`.
        measured: what `metrics.json` says, see `components.evaluate`.
        model: the folder of the model that validation rows chose.
        seconds: how long its steps took in this run; hardly any where they were cached.
    """

    name: str
    measured: Mapping[str, Any]
    model: str
    seconds: float


def show_models(measured: Mapping[str, Any], console: Console) -> None:
    """Prints all models of a run, and what the shipped one reaches on each class."""
    rows = measured["models"]
    names = list(next(iter(rows.values()))["metrics"])
    table = Table()
    table.add_column("model")
    for heading in (*(name.replace("_", " ") for name in names), "MB", "ms"):
        table.add_column(heading, justify="right")
    for name, row in rows.items():
        sizes = [f"{row[key]:.2f}" if key in row else "" for key in ("megabytes", "milliseconds")]
        table.add_row(*cells(name, *(format_score(row["metrics"][metric]) for metric in names), *sizes))
    console.print(table)
    seeds = len(rows[measured["shipped"]]["metrics"][measured["metric"]]["seeds"])
    over = f"; mean ± standard deviation over {seeds} seeds" if seeds > 1 else ""
    write(console, f"on {measured['rows']['test']} test rows, x 100{over}; ms: the median for one row on one thread")
    _show_report(measured["report"], console)


def show_tasks(results: Sequence[TaskResult], wanted: int, console: Console) -> None:
    """Prints a row a task and where models are; of a single task its classes, of several, if all ran, their average."""
    if not results:
        return
    table = Table()
    for heading in ("task", "metric"):
        table.add_column(heading, overflow="fold")
    for heading in ("test", "validation", "rows", "took"):
        table.add_column(heading, justify="right")
    for result in results:
        table.add_row(*cells(*_task_row(result)))
    console.print(table)
    write(console, "mean ± standard deviation over all seeds, x 100; rows: of the test split")
    for result in results:
        seeds = len(result.measured["validation"][result.measured["metric"]]["seeds"])
        which = f"the model that is best of {seeds} on validation rows" if seeds > 1 else "the model"
        write(console, f"{result.name}: {which} is in {result.model}")
    if wanted == 1:
        _show_report(results[0].measured["report"], console)
    if len(results) == wanted > 1:
        line = f"average over {wanted} tasks: {average(results):.2f}, the mean of their metrics x 100"
        write(console, f"{line}, as GLUE's (Wang et al. 2019)")


def average(results: Sequence[TaskResult]) -> float:
    """The mean over tasks of their metrics' means on test rows, times 100, as GLUE's score (Wang et al. 2019).

    GLUE averages a task's metrics first where it has two; here every task counts by the one that its settings name.
    """
    return 100 * statistics.fmean(_score(result)["mean"] for result in results)


def _score(result: TaskResult) -> Mapping[str, Any]:
    measured = result.measured
    score: Mapping[str, Any] = measured["models"][measured["shipped"]]["metrics"][measured["metric"]]
    return score


def _task_row(result: TaskResult) -> list[str]:
    measured = result.measured
    return [
        result.name,
        measured["metric"],
        format_score(_score(result)),
        format_score(measured["validation"][measured["metric"]]),
        str(measured["rows"]["test"]),
        format_seconds(result.seconds),
    ]


def _show_report(report: Mapping[str, Mapping[str, float]] | None, console: Console) -> None:
    """Prints what the model reaches on each class of the test rows, if the task has classes; of many the worst."""
    if not report:
        return
    shown = dict(sorted(report.items(), key=lambda item: item[1]["f1"])[:_MOST_CLASSES])
    few = f", the worst {len(shown)} of {len(report)} classes" if len(shown) < len(report) else ""
    table = Table(title=f"on test rows{few}", title_justify="left")
    table.add_column("class", overflow="fold")
    for heading in next(iter(report.values())):
        table.add_column(heading, justify="right")
    for name, row in report.items():
        if name in shown:
            scores = (str(value) if key == "support" else f"{100 * value:.2f}" for key, value in row.items())
            table.add_row(*cells(name, *scores))
    console.print(table)
