"""Two runs beside one another: their settings and their scores."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import METRICS_FILE, Evaluation
from pipeline.orchestrator.changes import flatten
from pipeline.orchestrator.history import History

MISSING = "(not there)"


class Pair(NamedTuple):
    """A value in the one run and in the other."""

    one: Any
    other: Any


class Difference(NamedTuple):
    """What is other in a run than in another.

    Attributes:
        settings: the keys that differ; None where a run has none recorded.
        steps: the states of steps that differ.
        scores: model -> metric, `megabytes` or `milliseconds` -> the means, of all that either run measured.
    """

    settings: dict[str, Pair] | None
    steps: dict[str, Pair]
    scores: dict[str, dict[str, Pair]]


def find_difference(history: History, root: Path, one: int, other: int) -> Difference:
    """Compares two runs.

    Raises:
        InputError: there is no such run.
    """
    settings = [history.settings(history.run_of(number).id) for number in (one, other)]
    told = None
    if settings[0] is not None and settings[1] is not None:
        told = _pairs(flatten(settings[0]), flatten(settings[1]))
    states = [{each.node: each.state for each in history.executions(number)} for number in (one, other)]
    scores = [_scores(history, root, number) for number in (one, other)]
    models = {**scores[0], **scores[1]}
    return Difference(
        told,
        _pairs(states[0], states[1]),
        {name: _pairs(scores[0].get(name, {}), scores[1].get(name, {}), equal_too=True) for name in models},
    )


def _pairs(one: Mapping[str, Any], other: Mapping[str, Any], *, equal_too: bool = False) -> dict[str, Pair]:
    pairs = {name: Pair(one.get(name, MISSING), other.get(name, MISSING)) for name in {**one, **other}}
    return {name: pair for name, pair in pairs.items() if equal_too or pair.one != pair.other}


def _scores(history: History, root: Path, run: int) -> dict[str, dict[str, float]]:
    """What the evaluations of a run measured, as far as they are still there."""
    found: dict[str, dict[str, float]] = {}
    for past in history.past_executions(run):
        for artifact in history.artifacts_of(past.id, "output").values():
            if artifact.type == Evaluation.__name__ and artifact.path is not None:
                measured = json.loads(Evaluation(root / artifact.path).file(METRICS_FILE).read_text())
                for name, model in measured["models"].items():
                    found[name] = figures_of(model)
    return found


def figures_of(model: Mapping[str, Any]) -> dict[str, float]:
    """The means of a model's metrics, its bytes and its time, of an entry of `metrics.json`."""
    means = {name: metric["mean"] for name, metric in model["metrics"].items()}
    return means | {name: model[name] for name in ("megabytes", "milliseconds") if name in model}
