"""The runs of a comparison: the cheap steps of all variants first, then their trainings, one after the other."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.errors import prefixed_errors
from components.training.model_folder import HISTORY_FILE
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import RunFailedError, RunResult, run_pipeline
from plugins.compare.budget import Budget, PretrainingCost
from plugins.compare.variants import ComparedVariant
from plugins.compare.wiring import ComparedTask, comparison_pipeline, cost_pipeline

Record = dict[str, Any]


class PreparedVariant(NamedTuple):
    """A variant that is ready to be trained, and the cost of its pre-training, None if it has none."""

    variant: ComparedVariant
    cost: PretrainingCost | None


def prepare(
    variants: Sequence[ComparedVariant], budget: Budget | None, root: Path, observer: Observer
) -> list[PreparedVariant]:
    """Makes all rows, measures a step of each pre-training, and sets the steps that the budget pays for."""
    prepared, timed = list[PreparedVariant](), budget is not None and budget.unit == "seconds"
    for variant in variants:
        start, cost = variant.start, None
        with prefixed_errors(f"{variant.name}.toml: "):
            pipeline, step_cost = cost_pipeline(start, variant.tasks, timed=timed)
            result = _run(pipeline, variant, "rows and costs", root, observer)
            if step_cost is not None:
                cost = PretrainingCost.of(result.artifact(step_cost).read(), start.pretraining_rows.short_steps)
            if budget is not None and cost is not None:
                training = dataclasses.replace(start.pretraining, steps=budget.steps(cost))
                variant = variant._replace(start=start.model_copy(update={"pretraining": training}))
            prepared.append(PreparedVariant(variant, cost))
    return prepared


def train(ready: Sequence[PreparedVariant], root: Path, observer: Observer) -> Iterator[tuple[str, Record]]:
    """Pre-trains, fine-tunes and measures each variant; yields its name and its record as soon as it is done."""
    for variant, cost in ready:
        with prefixed_errors(f"{variant.name}.toml: "):
            pipeline, outputs = comparison_pipeline(variant.start, variant.tasks)
            result = _run(pipeline, variant, "training", root, observer)
        model = result.artifact(outputs.model)
        record: Record = {
            "model": str(model.path),
            "parameters": model.manifest()["counts"]["parameters"],
            "tasks": {name: _score(task, result) for name, task in outputs.tasks.items()},
        }
        if cost is not None:
            history = [json.loads(line) for line in model.file(HISTORY_FILE).read_text().splitlines()]
            record["pretraining"] = _pretraining_record(cost, history, result.step(outputs.model.node.name).worked)
        yield variant.name, record


def _run(pipeline: Pipeline, variant: ComparedVariant, phase: str, root: Path, observer: Observer) -> RunResult:
    observer.say(f"{variant.name}: {phase}")
    pipeline.name += f"/{variant.name}"
    result = run_pipeline(pipeline, root, observer=observer, **variant.start.run_options())
    if result.state != "done":
        raise RunFailedError(f"{variant.name}.toml: {result.message}")
    return result


def _pretraining_record(cost: PretrainingCost, history: Sequence[Mapping[str, float]], seconds: float) -> Record:
    """The cost of a pre-training, and its held-out loss at each validation."""
    steps = int(history[-1]["step"])
    whole = cost.flops_after(steps, steps)
    # The loss of masked tokens, else the first loss of a validation.
    names = [name for name in history[-1] if name.startswith("validation_") and name.endswith("loss")]
    name = min(names, key=lambda name: name != "validation_masked_loss")
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
        "bytes_an_entry": cost.bytes_an_entry,
        "curve": curve,
    }


def _score(task: ComparedTask, result: RunResult) -> Record:
    """The scores of a task on test rows, and the models behind them."""
    metrics = result.artifact(task.evaluation).read()
    return {
        "metric": metrics.metric,
        "rows": metrics.rows["test"],
        **metrics.score._asdict(),
        "validation": metrics.validation[metrics.metric]._asdict(),
        "models": [str(result.artifact(model).path) for model in task.models],
        "kept": metrics.kept,
    }
