"""What a tracking store is told of a run: parameters, figures, times."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import METRICS_FILE, Evaluation
from components.artifacts.pushed import Pushed
from pipeline.orchestrator.changes import flatten
from pipeline.orchestrator.history import History
from pipeline.provenance.difference import figures_of
from pipeline.report.record import Record
from pipeline.report.trainings import read_trainings


class Point(NamedTuple):
    """A figure, at a step of a training, or of a model as it is (step 0)."""

    name: str
    value: float
    step: int


class Told(NamedTuple):
    """A run, as others want it.

    Attributes:
        parameters: dotted names -> values as text.
        points: figures of trainings and of models.
        folder: what was pushed; None if nothing was, or if it is gone.
    """

    parameters: dict[str, str]
    points: list[Point]
    folder: Path | None


def tell(record: Record, history: History) -> Told:
    """All of it.

    Args:
        record: of the run.
        history: of its root.
    """
    settings = flatten(history.settings(record.run.id) or {})
    parameters = {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}
    pushed = [Pushed(folder).location() for _, folder in record.outputs(Pushed.__name__)]
    folder = next((place for place in pushed if place.is_dir()), None)
    return Told(parameters, [*_curves(record), *_scores(record)], folder)


def _curves(record: Record) -> Iterator[Point]:
    for training in read_trainings(record):
        for panel, lines in training.panels.items():
            for line in lines:
                own = "/".join(
                    filter(None, (training.name, "validation" if line.is_held_out else "", panel, line.name))
                )
                yield from (Point(own, float(value), int(step)) for step, value in line.points)


def _scores(record: Record) -> Iterator[Point]:
    for _, folder in record.outputs(Evaluation.__name__):
        measured: dict[str, Any] = json.loads((folder / METRICS_FILE).read_text(encoding="utf-8"))
        for model, row in measured["models"].items():
            yield from (Point(f"{model}/{name}", value, 0) for name, value in figures_of(row).items())
            spreads = {name: found["sd"] for name, found in row["metrics"].items() if found.get("sd") is not None}
            yield from (Point(f"{model}/{name} sd", value, 0) for name, value in spreads.items())
