"""Reads the histories of trainings as curves over steps."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.report.record import RunRecord, RunStep

HISTORY = "history.jsonl"
# The folder of the first stage, if a training has two.
_FIRST_STAGE = "intermediate"
_VALIDATION = "validation_"
# The curves of a panel; a pre-training has a loss for every head.
_MOST_LOSSES = 3


class Curve(NamedTuple):
    """The points of a figure over steps, on validation rows if `is_held_out`, else on training rows."""

    name: str
    points: list[tuple[float, float]]
    is_held_out: bool = False


class TrainingCurves(NamedTuple):
    """The curves of a training, or of the trainings of all seeds."""

    name: str
    notes: list[str]
    panels: dict[str, list[Curve]]
    figures: dict[str, list[float]]


class _History(NamedTuple):
    step: RunStep
    entries: list[dict[str, float]]
    is_timed: bool


def read_trainings(record: RunRecord) -> list[TrainingCurves]:
    """Reads the trainings of a run; the seeds of a step are one training."""
    histories = [history for history in (_read_history(record, step) for step in record.steps) if history is not None]
    groups: dict[str, list[_History]] = {}
    for history in histories:
        groups.setdefault(re.sub(r"-\d+$", "", history.step.name), []).append(history)
    return [_describe(name if len(group) > 1 else group[0].step.name, group) for name, group in groups.items()]


def _read_history(record: RunRecord, step: RunStep) -> _History | None:
    """The history beside the log of a step, which has times; else the one in its model, without times."""
    entries = read_running_history(record.trained(step))
    if entries:
        return _History(step, entries, is_timed=True)
    for stored in step.outputs.values():
        file = record.root / (stored.path or "") / HISTORY
        if stored.path is not None and file.is_file():
            entries = [entry for entry in read_history(file) if _losses(entry)]
            return _History(step, entries, is_timed=False) if entries else None
    return None


def read_running_history(folder: Path) -> list[dict[str, float]]:
    """The entries of a training so far, from the folder beside its log; empty before the first one."""
    joined: list[dict[str, float]] = []
    for training in sorted(place for place in folder.glob("*") if place.is_dir()):
        done = 0.0  # the second stage continues the steps of the first
        for file in (training / _FIRST_STAGE / HISTORY, training / HISTORY):
            entries = read_history(file) if file.is_file() else []
            joined += ({**entry, "step": entry["step"] + done} for entry in entries)
            done += entries[-1]["step"] if entries else 0.0
    return joined


def read_history(file: Path) -> list[dict[str, float]]:
    """Reads the entries of a history without an incomplete last line, which a killed step leaves."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _describe(name: str, group: Sequence[_History]) -> TrainingCurves:
    panels: dict[str, list[Curve]] = {"loss": [], "learning rate": [], "tokens a second": []}
    figures: dict[str, list[float]] = {}
    for history in group:
        entries = history.entries
        seed = "" if len(group) == 1 else f"seed {history.step.name.rpartition('-')[2]}"
        losses = _losses({name: value for entry in entries for name, value in entry.items()})
        for loss in losses:
            title = " ".join(filter(None, (loss.replace("_", " ") if len(losses) > 1 else "", seed)))
            panels["loss"].append(Curve(title, _points(entries, loss)))
            panels["loss"].append(Curve(title, _points(entries, _VALIDATION + loss), is_held_out=True))
        panels["learning rate"].append(Curve(seed, _points(entries, "learning_rate")))
        panels["tokens a second"].append(Curve(seed, _points(entries, "tokens_per_second")))
        validations = [entry for entry in entries if any(key.startswith(_VALIDATION) for key in entry)]
        for key, value in validations[-1].items() if validations else ():
            if key.startswith(_VALIDATION):
                figures.setdefault(key.removeprefix(_VALIDATION).replace("_", " "), []).append(value)
    panels = {title: [curve for curve in curves if curve.points] for title, curves in panels.items()}
    panels = {title: curves for title, curves in panels.items() if curves}
    return TrainingCurves(name, list(_notes(group)), panels, figures)


def _losses(entry: Mapping[str, Any]) -> list[str]:
    """The names of the losses: `loss`, or the losses of several heads."""
    names = [name for name in entry if name.endswith("_loss") and not name.startswith(_VALIDATION)]
    return ["loss"] if "loss" in entry else names[:_MOST_LOSSES]


def _points(entries: Iterable[Mapping[str, float]], key: str) -> list[tuple[float, float]]:
    return [(entry["step"], entry[key]) for entry in entries if key in entry]


def _notes(group: Sequence[_History]) -> Iterator[str]:
    steps = sorted({int(history.entries[-1]["step"]) for history in group})
    yield f"{' to '.join(f'{step:,}' for step in dict.fromkeys((steps[0], steps[-1])))} steps"
    for history in group:
        step = history.step
        if step.done.state == "cached" and step.made is not None:
            yield f"{step.name}: cached, trained in run {step.made.run}"
        elif step.done.state in ("failed", "refused"):
            yield f"{step.name} {'was refused' if step.done.state == 'refused' else 'failed'} after these steps"
        skipped = int(history.entries[-1].get("skipped_steps", 0))
        if skipped:
            count = "1 step" if skipped == 1 else f"{skipped:,} steps"
            yield f"{step.name}: {count} skipped, as gradients overflowed in float16"
        if not history.is_timed:
            yield f"{step.name}: its log was deleted, so its speed is unknown"
