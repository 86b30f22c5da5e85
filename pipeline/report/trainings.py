"""How each training went: the entries of its history, as lines over steps."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.report.record import Record, Step

HISTORY = "history.jsonl"
# What a training of two stages does first lies in a folder of this name.
_FIRST_STAGE = "intermediate"
_VALIDATION = "validation_"
# Of one panel; a pre-training has one for each of its heads.
_MOST_LOSSES = 3


class Line(NamedTuple):
    """Points of a figure over steps; `is_held_out` tells those of validation rows from those of training rows."""

    name: str
    points: list[tuple[float, float]]
    is_held_out: bool = False


class Training(NamedTuple):
    """One step, or that step of each seed.

    Attributes:
        name: of the step.
        notes: what is to be known of it, a line each.
        panels: title -> its lines.
        figures: name -> the last value of the figure in validation, a value a seed.
    """

    name: str
    notes: list[str]
    panels: dict[str, list[Line]]
    figures: dict[str, list[float]]


class _History(NamedTuple):
    step: Step
    entries: list[dict[str, float]]
    is_timed: bool


def read_trainings(record: Record) -> list[Training]:
    """All trainings of a run, a step a training; the seeds of one step are one."""
    found = [own for own in (_read(record, step) for step in record.steps) if own is not None]
    groups: dict[str, list[_History]] = {}
    for own in found:
        groups.setdefault(re.sub(r"-\d+$", "", own.step.name), []).append(own)
    return [_describe(name if len(group) > 1 else group[0].step.name, group) for name, group in groups.items()]


def _read(record: Record, step: Step) -> _History | None:
    """The record of a training beside its log, with times; else the history in its model, without."""
    entries = list(_join(sorted(folder for folder in record.trained(step).glob("*") if folder.is_dir())))
    if entries:
        return _History(step, entries, is_timed=True)
    for stored in step.outputs.values():
        file = record.root / (stored.path or "") / HISTORY
        if stored.path is not None and file.is_file():
            entries = [entry for entry in _parse(file) if _losses(entry)]
            return _History(step, entries, is_timed=False) if entries else None
    return None


def _join(folders: Iterable[Path]) -> Iterator[dict[str, float]]:
    """The entries of a training, the steps of both stages counted on where there are two."""
    for folder in folders:
        done = 0.0
        for file in (folder / _FIRST_STAGE / HISTORY, folder / HISTORY):
            entries = _parse(file) if file.is_file() else []
            yield from ({**entry, "step": entry["step"] + done} for entry in entries)
            done += entries[-1]["step"] if entries else 0.0


def _parse(file: Path) -> list[dict[str, float]]:
    """The entries of a file; a last line that is cut off, of a step that was killed, is left out."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _describe(name: str, group: Sequence[_History]) -> Training:
    panels: dict[str, list[Line]] = {"loss": [], "learning rate": [], "tokens a second": []}
    figures: dict[str, list[float]] = {}
    for own in group:
        seed = "" if len(group) == 1 else f"seed {own.step.name.rpartition('-')[2]}"
        losses = _losses(own.entries[-1])
        for loss in losses:
            title = " ".join(filter(None, (loss.replace("_", " ") if len(losses) > 1 else "", seed)))
            panels["loss"].append(Line(title, _points(own.entries, loss)))
            panels["loss"].append(Line(title, _points(own.entries, _VALIDATION + loss), is_held_out=True))
        panels["learning rate"].append(Line(seed, _points(own.entries, "learning_rate")))
        panels["tokens a second"].append(Line(seed, _points(own.entries, "tokens_per_second")))
        for key, value in _last_held_out(own.entries).items():
            figures.setdefault(key, []).append(value)
    shown = {title: [line for line in lines if line.points] for title, lines in panels.items()}
    panels = {title: lines for title, lines in shown.items() if lines}
    return Training(name, list(_notes(group)), panels, figures)


def _losses(entry: Mapping[str, Any]) -> list[str]:
    """The names of what is minimized: `loss`, or of a training with several heads the loss of each."""
    names = [name for name in entry if name.endswith("_loss") and not name.startswith(_VALIDATION)]
    return ["loss"] if "loss" in entry else names[:_MOST_LOSSES]


def _points(entries: Iterable[Mapping[str, float]], key: str) -> list[tuple[float, float]]:
    return [(entry["step"], entry[key]) for entry in entries if key in entry]


def _last_held_out(entries: Sequence[Mapping[str, float]]) -> dict[str, float]:
    found = [entry for entry in entries if any(key.startswith(_VALIDATION) for key in entry)]
    last = found[-1] if found else {}
    return {
        key.removeprefix(_VALIDATION).replace("_", " "): value
        for key, value in last.items()
        if key.startswith(_VALIDATION)
    }


def _notes(group: Sequence[_History]) -> Iterator[str]:
    steps = sorted({int(own.entries[-1]["step"]) for own in group})
    yield f"{' to '.join(f'{step:,}' for step in dict.fromkeys((steps[0], steps[-1])))} steps"
    for own in group:
        step = own.step
        if step.done.state == "cached" and step.made is not None:
            yield f"{step.name}: cached, trained in run {step.made.run}"
        elif step.done.state in ("failed", "refused"):
            yield f"{step.name}: {step.done.state}; up to there"
        if not own.is_timed:
            yield f"{step.name}: its log is gone, and with it how fast it went"
