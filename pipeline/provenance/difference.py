"""Compares two runs: settings, step states and scores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import Evaluation, MeasuredModel
from pipeline.orchestrator.changes import flatten
from pipeline.orchestrator.history import RunHistory


class Pair(NamedTuple):
    """A value in both runs; None where it is not set."""

    one: Any
    other: Any


class RunDifference(NamedTuple):
    """The difference between two runs."""

    settings: dict[str, Pair] | None
    steps: dict[str, Pair]
    scores: dict[str, dict[str, Pair]]


def find_difference(history: RunHistory, root: Path, one: int, other: int) -> RunDifference:
    """Compares two runs."""
    settings = [history.settings(history.run_of(number).id) for number in (one, other)]
    changed_settings = None
    if settings[0] is not None and settings[1] is not None:
        changed_settings = _pairs(flatten(settings[0]), flatten(settings[1]))
    states = [{execution.node: execution.state for execution in history.executions(run)} for run in (one, other)]
    scores: list[dict[str, dict[str, float]]] = [{}, {}]
    for number, run_scores in zip((one, other), scores, strict=True):
        # Of evaluations that still exist.
        for past in history.past_executions(number):
            for artifact in history.artifacts_of(past.id, "output").values():
                if artifact.type == Evaluation.__name__ and artifact.path is not None and history.pull(artifact):
                    measured = Evaluation(root / artifact.path).read().models
                    # Of a job of several tasks each is evaluated, by a step such as `evaluate-mood`.
                    task = past.execution.node.partition("-")[2]
                    run_scores |= {f"{task} {name}".strip(): figures_of(model) for name, model in measured.items()}
    models = {**scores[0], **scores[1]}
    return RunDifference(
        changed_settings,
        _pairs(states[0], states[1]),
        {name: _pairs(scores[0].get(name, {}), scores[1].get(name, {}), equal_too=True) for name in models},
    )


def _pairs(one: Mapping[str, Any], other: Mapping[str, Any], *, equal_too: bool = False) -> dict[str, Pair]:
    pairs = {name: Pair(one.get(name), other.get(name)) for name in {**one, **other}}
    return {name: pair for name, pair in pairs.items() if equal_too or pair.one != pair.other}


def figures_of(model: MeasuredModel) -> dict[str, float]:
    """The means of a model's metrics, and the sizes that it has."""
    means = {name: score.mean for name, score in model.metrics.items()}
    return means | {name: size for name, size in model.sizes.items() if size is not None}
