"""What a model's file says of itself, as a table or as JSON."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from components.dsl.errors import InputError
from components.scoring.model_card import calibration_lines, format_score
from keras_bert.export.attachments import attached
from keras_bert.folders import TASK_FILE, VOCABULARY_FILE

_READ = ("task", "recipe", "metrics", "origin")
_ATTACHED = ", ".join(f"{name}.json" for name in _READ)
_MOST_LABELS = 12


def read_description(file: Path) -> dict[str, Any]:
    """The settings, labels, recipe, figures and origin that travel in a pushed file.

    Raises:
        InputError: there is no such file, nothing of the kind in it, or what cannot be shown.
    """
    if not file.is_file():
        raise InputError(f"{file} must be a .tflite or .onnx file, found none")
    try:
        held = attached(file)
    except ValueError as error:
        raise InputError(str(error)) from None
    try:
        found = {name: json.loads(held[f"{name}.json"]) for name in _READ if f"{name}.json" in held}
    except ValueError as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    if TASK_FILE not in held:
        raise InputError(f"{file} must be a file that was pushed or exported here, found nothing in it that says so")
    content: dict[str, Any] = {"file": file.name, "bytes": file.stat().st_size}
    if VOCABULARY_FILE in held:
        content["pieces"] = held[VOCABULARY_FILE].count(b"\n")
    content |= found
    # Formats that carry no digest of what is attached may hold other JSON; to be shown is all that is asked of it.
    try:
        content["recipe"] = found.get("recipe", {}).get(file.name, {})
        list(_lines(content))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file} must hold {_ATTACHED} as they are written here, got {error!r}") from None
    return content


def show_description(content: Mapping[str, Any], console: Console) -> None:
    """Prints one line a thing that is known."""
    table = Table(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in _lines(content):
        table.add_row(Text(name), Text(value))
    console.print(table)


def _lines(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    task, recipe, metrics = content["task"], content["recipe"], content.get("metrics")
    yield "file", f"{content['file']}, {content['bytes'] / 1e6:.2f} MB"
    yield "task", f"{task['task']}, up to {task['max_length']} tokens"
    labels = task.get("labels", [])
    if labels:
        more = f", ... {len(labels)} in all" if len(labels) > _MOST_LABELS else ""
        yield "labels", ", ".join(labels[:_MOST_LABELS]) + more
    if "pieces" in content:
        yield "pieces", f"{content['pieces']:,}"
    for key in ("recipe", "weights", "activations"):
        if key in recipe:
            yield key, str(recipe[key])
    if "lengths" in recipe:
        yield "lengths", ", ".join(map(str, recipe["lengths"]))
    if metrics:
        yield from _figures(metrics)
    for name, version in recipe.get("libraries", {}).items():
        yield name, version
    for name, fingerprint in content.get("origin", {}).items():
        yield f"fingerprint of {name.replace('_', ' ')}", fingerprint


def _figures(metrics: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What was measured of the file that the folder is for, and of the teacher beside it."""
    for name in dict.fromkeys((metrics["shipped"], "teacher")):
        scores = metrics["models"].get(name, {}).get("metrics", {})
        if scores:
            yield name, ", ".join(f"{key.replace('_', ' ')} {format_score(value)}" for key, value in scores.items())
    if metrics.get("calibration") is not None:
        told = metrics["calibration"]["temperature"]
        yield "temperature", "none: the likelihood has no peak" if told is None else f"{told:.4f}"
        yield "calibration", "; ".join(calibration_lines(metrics["calibration"]))
    seeds = len(metrics["models"][metrics["shipped"]]["metrics"][metrics["metric"]]["seeds"])
    rows = ", ".join(f"{count} {name}" for name, count in metrics["rows"].items())
    yield "rows", f"{rows}; seed {metrics['kept']} of {seeds}"
