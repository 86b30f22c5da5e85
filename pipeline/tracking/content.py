"""Summarizes a run for a tracking store: its parameters and its metrics."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from components.artifacts.evaluation import Evaluation
from components.artifacts.pushed import Pushed
from pipeline.orchestrator.changes import flatten
from pipeline.orchestrator.history import History
from pipeline.provenance.difference import figures_of
from pipeline.report.record import RunRecord
from pipeline.report.trainings import read_trainings


class MetricPoint(NamedTuple):
    """A metric at a step of a training, or of a finished model (step 0)."""

    name: str
    value: float
    step: int


class RunSummary(NamedTuple):
    """The content of a run for a tracking store.

    Attributes:
        parameters: dotted names -> values as text.
        points: metrics of trainings and of models.
        folder: the pushed version; None if nothing was pushed, or if it was deleted.
    """

    parameters: dict[str, str]
    points: list[MetricPoint]
    folder: Path | None


def summarize_run(record: RunRecord, history: History) -> RunSummary:
    """Summarizes a run.

    Args:
        record: the run.
        history: the store of its root.
    """
    settings = flatten(history.settings(record.run.id) or {})
    parameters = {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}
    pushed = [Pushed(folder).location() for _, folder in record.outputs(Pushed.__name__)]
    folder = next((place for place in pushed if place.is_dir()), None)
    return RunSummary(parameters, [*_curves(record), *_scores(record)], folder)


def _curves(record: RunRecord) -> Iterator[MetricPoint]:
    for training in read_trainings(record):
        for panel, lines in training.panels.items():
            for line in lines:
                parts = (training.name, "validation" if line.is_held_out else "", panel, line.name)
                name = "/".join(filter(None, parts))
                yield from (MetricPoint(name, float(value), int(step)) for step, value in line.points)


def _scores(record: RunRecord) -> Iterator[MetricPoint]:
    for _, folder in record.outputs(Evaluation.__name__):
        for name, model in Evaluation(folder).read().models.items():
            yield from (MetricPoint(f"{name}/{figure}", value, 0) for figure, value in figures_of(model).items())
            for metric, score in model.metrics.items():
                if score.sd is not None:
                    yield MetricPoint(f"{name}/{metric} sd", score.sd, 0)
