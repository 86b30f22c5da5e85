"""What a run came to, in a few lines."""

import importlib.metadata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from components.artifacts.pushed import Pushed
from pipeline.report.record import Record, read_end, read_json
from pipeline.report.scores import Scores
from pipeline.report.trainings import Training
from pipeline.views.terminal import format_seconds, format_time

_DISTRIBUTION = "keras-bert-edge"
_NOTES = {
    "interrupted": "It was stopped; the same command goes on.",
    "failed": "No step has recorded why; the terminal told it.",
    "running": "It goes on, or was killed.",
}


class Trouble(NamedTuple):
    """Why a step failed or was refused, and the end of its log."""

    step: str
    state: str
    message: str
    log: str


class Head(NamedTuple):
    """The top of the page.

    Attributes:
        pipeline: its name.
        run: its number.
        state: how it ended.
        started: when.
        took: how long; empty while it runs.
        version: of the package that wrote the page.
        troubles: what went wrong.
        note: what is to be known of a run that did not come to its end, where no step tells why; else empty.
        figures: (name, value, what it is worth) of the model that the run made.
        pushed: where it went; empty where it went nowhere.
    """

    pipeline: str
    run: int
    state: str
    started: str
    took: str
    version: str
    troubles: list[Trouble]
    note: str
    figures: list[tuple[str, str, str]]
    pushed: str


def read_head(record: Record, scores: Sequence[Scores], trainings: Sequence[Training]) -> Head:
    """What a run came to."""
    run = record.run
    troubles = list(_troubles(record))
    pushed = next((read_json(folder / "pushed.json")["path"] for _, folder in record.outputs(Pushed.__name__)), "")
    return Head(
        pipeline=run.pipeline,
        run=run.id,
        state=run.state,
        started=format_time(run.started),
        took="" if run.ended is None else format_seconds(run.ended - run.started),
        version=importlib.metadata.version(_DISTRIBUTION),
        troubles=troubles,
        note="" if troubles else _NOTES.get(run.state, ""),
        figures=list(_of_model(scores[-1]) if scores else _of_training(trainings)),
        pushed=pushed,
    )


def _troubles(record: Record) -> Iterator[Trouble]:
    for step in record.steps:
        done = step.done
        if done.state in ("failed", "refused"):
            log = read_end(record.log(step)) if done.state == "failed" else ""
            yield Trouble(step.name, done.state, done.message, log)


def _of_model(scores: Scores) -> Iterator[tuple[str, str, str]]:
    models, metric, shipped = (scores.measured[name] for name in ("models", "metric", "shipped"))
    row = models[shipped]
    score, sd = row["metrics"][metric]["mean"], row["metrics"][metric]["sd"]
    over = "" if sd is None else f"± {100 * sd:.2f} over seeds, "
    told = f"{over}{shipped}, {scores.measured['rows']['test']:,} test rows"
    yield metric.replace("_", " "), f"{100 * score:.2f}", told
    teacher = models.get("teacher")
    if teacher is not None and shipped != "teacher" and teacher["metrics"][metric]["mean"] > 0:
        whole = teacher["metrics"][metric]["mean"]
        yield "of the teacher", f"{100 * score / whole:.1f} %", f"which reaches {100 * whole:.2f}"
    for key, unit in (("megabytes", "MB"), ("milliseconds", "ms")):
        if key in row:
            before = f"teacher {teacher[key]:.2f}" if teacher is not None and shipped != "teacher" else ""
            yield unit, f"{row[key]:.2f}", before


def _of_training(trainings: Sequence[Training]) -> Iterator[tuple[str, str, str]]:
    """Of a run without an evaluation: what validation rows said last."""
    for training in trainings[-1:]:
        for name, values in training.figures.items():
            yield name, f"{sum(values) / len(values):.4g}", f"{training.name}, on validation rows"
