"""What a person sees of a fine-tuning: a row a task, and over several tasks their average."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from pipeline.orchestrator.runner import RunResult
from pipeline.views.terminal import cells, format_seconds, write


class Outcome(NamedTuple):
    """What became of one task.

    Attributes:
        name: of its settings file, without `.toml`.
        scores: what `scores.json` says, see `components.fine_tune_seeds.summarize`.
        model: the folder of the kept model.
        seconds: how long its steps took in this run; hardly any where they were cached.
    """

    name: str
    scores: dict[str, Any]
    model: Path
    seconds: float


def read_outcome(name: str, result: RunResult) -> Outcome:
    """The outcome of a run that is done."""
    outputs = result.step("fine_tune_seeds").outputs
    scores = json.loads(outputs["scores"].file("scores.json").read_text())
    return Outcome(name, scores, outputs["model"].path, sum(step.seconds for step in result.steps))


def average(outcomes: Sequence[Outcome]) -> float:
    """The mean over tasks of their metrics' means on test rows, times 100, as GLUE's score (Wang et al. 2019).

    GLUE averages a task's metrics first where it has two; here every task counts by the one that its settings name.
    """
    return 100 * statistics.fmean(outcome.scores["test"][outcome.scores["metric"]]["mean"] for outcome in outcomes)


def show_outcomes(outcomes: Sequence[Outcome], wanted: int, console: Console) -> None:
    """Prints the table and the models' folders; of a single task its classes, of several their average, if all ran."""
    if not outcomes:
        return
    table = Table()
    for heading in ("task", "metric"):
        table.add_column(heading, overflow="fold")
    for heading in ("test", "validation", "rows", "took"):
        table.add_column(heading, justify="right")
    for outcome in outcomes:
        table.add_row(*cells(*_describe(outcome)))
    console.print(table)
    write(console, "test: mean ± standard deviation over all seeds, validation: mean; x 100; rows: of the test split")
    for outcome in outcomes:
        kept = (
            f"the model of seed {outcome.scores['kept']}, the best of {len(outcome.scores['seeds'])} on validation rows"
        )
        write(console, f"{outcome.name}: {kept}, is in {outcome.model}")
    if wanted == 1:
        _show_report(outcomes[0].scores["report"], console)
    if len(outcomes) == wanted > 1:
        line = f"average over {wanted} tasks: {average(outcomes):.2f}, the mean of their metrics x 100"
        write(console, f"{line}, as GLUE's (Wang et al. 2019)")


def _show_report(report: dict[str, dict[str, float]], console: Console) -> None:
    """Prints what the kept model reaches on each class of the test rows, if the task has classes."""
    if not report:
        return
    table = Table(title="the kept model on test rows", title_justify="left")
    table.add_column("class", overflow="fold")
    for heading in next(iter(report.values())):
        table.add_column(heading, justify="right")
    for name, row in report.items():
        values = (str(value) if key == "support" else f"{100 * value:.2f}" for key, value in row.items())
        table.add_row(*cells(name, *values))
    console.print(table)


def _describe(outcome: Outcome) -> list[str]:
    scores, metric = outcome.scores, outcome.scores["metric"]
    test = scores["test"][metric]
    return [
        outcome.name,
        metric,
        f"{100 * test['mean']:.2f}" + ("" if test["sd"] is None else f" ± {100 * test['sd']:.2f}"),
        f"{100 * scores['validation'][metric]['mean']:.2f}",
        str(scores["rows"]["test"]),
        format_seconds(outcome.seconds),
    ]
