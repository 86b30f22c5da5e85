"""The runs behind a comparison: all that is cheap first, of every variant, then their trainings, one by one."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.training.model_folder import HISTORY_FILE
from pipeline.comparison.budget import Budget, Cost
from pipeline.comparison.contenders import Contender, errors_named
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import BrokenError, RunResult, run_pipeline
from pipeline.pipelines import comparing, measuring
from pipeline.settings.schema import Settings

Record = dict[str, Any]


class Ready(NamedTuple):
    """A variant that may be trained; of its pre-training, if it has one, the cost of a step."""

    contender: Contender
    cost: Cost | None


def prepare(contenders: Sequence[Contender], budget: Budget | None, root: Path, observer: Observer) -> list[Ready]:
    """Makes all rows, measures a step of each pre-training, and makes steps of the budget.

    Raises:
        InputError: some input cannot be used, or the budget is not enough for a step.
        BrokenError: a step broke.
    """
    found = []
    for contender in contenders:
        with errors_named(f"{contender.name}.toml"):
            found.append(_prepare(contender, budget, root, observer))
    return found


def _prepare(contender: Contender, budget: Budget | None, root: Path, observer: Observer) -> Ready:
    start = contender.start
    timed = budget is not None and budget.unit == "seconds"
    result = _run(measuring(start, contender.tasks, timed=timed), contender, "rows and costs", root, observer)
    if start.corpus is None:
        return Ready(contender, None)
    cost = Cost.read(result.step("measure_step").outputs["cost"], start.pretraining_rows.short_steps)
    if budget is not None:
        training = dataclasses.replace(start.pretraining, steps=budget.steps(cost))
        contender = contender._replace(start=start.model_copy(update={"pretraining": training}))
    return Ready(contender, cost)


def train(ready: Sequence[Ready], root: Path, observer: Observer) -> Iterator[tuple[str, Record]]:
    """Pre-trains, fine-tunes and measures each variant, and tells what became of it as soon as it is known.

    Raises:
        InputError: some input cannot be used.
        BrokenError: a step broke.
    """
    for contender, cost in ready:
        with errors_named(f"{contender.name}.toml"):
            result = _run(comparing(contender.start, contender.tasks), contender, "training", root, observer)
        yield contender.name, _record(contender, cost, result)


def _run(pipeline: Pipeline, contender: Contender, what: str, root: Path, observer: Observer) -> RunResult:
    observer.say(f"{contender.name}: {what}")
    pipeline.name += f"/{contender.name}"
    result = run_pipeline(pipeline, root, observer=observer, **contender.start.run_options())
    if result.state != "done":
        raise BrokenError(f"{contender.name}.toml: {result.message}")
    return result


def _record(contender: Contender, cost: Cost | None, result: RunResult) -> Record:
    start = result.step("import_checkpoint" if cost is None else "pretrain")
    model = start.outputs["model"]
    record: Record = {
        "model": str(model.path),
        "parameters": model.manifest()["counts"]["parameters"],
        "tasks": {name: _score(name, settings, result) for name, settings in contender.tasks.items()},
    }
    if cost is not None:
        history = [json.loads(line) for line in model.file(HISTORY_FILE).read_text().splitlines()]
        record["pretraining"] = _spent(cost, history, start.worked)
    return record


def _spent(cost: Cost, history: Sequence[Mapping[str, float]], seconds: float) -> Record:
    """What pre-training cost, and its held-out loss on the way."""
    steps = int(history[-1]["step"])
    whole = cost.flops_after(steps, steps)
    name = _find_loss(history[-1])
    curve = []
    for entry in history:
        if name in entry:
            flops = cost.flops_after(int(entry["step"]), steps)
            took = seconds * flops / whole
            curve.append({"step": int(entry["step"]), "flops": flops, "seconds": took, "loss": entry[name]})
    return {
        "steps": steps,
        "flops": whole,
        "seconds": seconds,
        "loss": name.removeprefix("validation_"),
        "bytes_a_piece": cost.bytes_a_piece,
        "curve": curve,
    }


def _find_loss(entry: Mapping[str, float]) -> str:
    """That of masked tokens, else the first one that was minimized."""
    names = [name for name in entry if name.startswith("validation_") and name.endswith("loss")]
    return min(names, key=lambda name: name != "validation_masked_loss")


def _score(task: str, settings: Settings, result: RunResult) -> Record:
    evaluation = result.step(f"evaluate-{task}").outputs["evaluation"]
    measured = json.loads(evaluation.file("metrics.json").read_text())
    metric = measured["metric"]
    names = [f"fine_tune-{task}"] if settings.seeds == 1 else [f"fine_tune-{task}-{n}" for n in range(settings.seeds)]
    return {
        "metric": metric,
        "rows": measured["rows"]["test"],
        **measured["models"][measured["shipped"]]["metrics"][metric],
        "validation": measured["validation"][metric],
        "models": [str(result.step(name).outputs["model"].path) for name in names],
        "kept": measured["kept"],
    }
