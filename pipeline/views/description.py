"""What a model's file says of itself, and what accelerators say of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from components.artifacts.evaluation import Metrics
from components.dsl.errors import InputError
from components.scoring.model_card import calibration_lines, format_score, name_thresholds
from keras_bert.core.folders import (
    ONNX_FILE,
    SAVED_MODEL_FILE,
    TASK_FILE,
    VOCABULARY_FILE,
    WEB_FOLDER,
    temporary_folder,
)
from keras_bert.export.attachments import read_attachments
from keras_bert.export.files import count_bytes, count_download_bytes
from keras_bert.export.targets.registry import FILES
from pipeline.views.tables import Table
from pipeline.views.terminal import cells, native_logs_hidden

_READ = ("task", "export", "metrics", "origin")
_ATTACHED = ", ".join(f"{name}.json" for name in _READ)
_MOST_LABELS = 12


def read_description(file: Path) -> dict[str, Any]:
    """The settings, labels, export, figures and origin that travel in a pushed file."""
    # The folders that are models in formats of plug-ins.
    packages = {Path(Path(written.name).parts[0]).suffix: written.describe for written in FILES if written.describe}
    if (describe := packages.get(file.suffix)) is not None:
        try:
            return describe(file)
        except ValueError as error:
            raise InputError(str(error)) from None
    if not file.is_file():
        *kinds, last_kind = (".tflite", ".onnx", SAVED_MODEL_FILE, *packages)
        raise InputError(f"{file} must be a {', '.join(kinds)} or {last_kind}, found none")
    try:
        held = read_attachments(file)
    except ValueError as error:
        raise InputError(str(error)) from None
    try:
        attached = {name: json.loads(held[f"{name}.json"]) for name in _READ if f"{name}.json" in held}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    if WEB_FOLDER in file.parts and TASK_FILE not in held:
        raise InputError(
            f"{file} must be a file beside {WEB_FOLDER}: its files, which transformers.js reads, hold no description; "
            f"{ONNX_FILE} holds that of the same model"
        )
    if TASK_FILE not in held:
        raise InputError(f"{file} must be a file that was pushed or exported here, found nothing in it that says so")
    content: dict[str, Any] = {"file": file.name, "bytes": count_bytes(file)}
    content["download_bytes"] = count_download_bytes(file)
    if VOCABULARY_FILE in held:
        content["entries"] = held[VOCABULARY_FILE].count(b"\n")
    content |= attached
    # Formats without a digest of the attachments may hold other JSON; it only has to be printable.
    try:
        content["export"] = attached.get("export", {}).get(file.name, {})
        list(_lines(content))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file} must hold {_ATTACHED} as they are written here, got {error!r}") from None
    return content


def run_self_test(file: Path) -> str:
    """Which part of a file's pushed folder is wrong, by its self-test: empty without one, "passes" if none is."""
    from keras_bert.clients.self_test import check_file

    try:
        with native_logs_hidden():
            check_file(file)
    except FileNotFoundError:
        return ""
    except ValueError as error:
        return str(error)
    return "passes"


def show_description(content: Mapping[str, Any], console: Console) -> None:
    """Prints a line for every known fact."""
    table = Grid(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in _lines(content):
        table.add_row(*cells(name, value))
    console.print(table)


def _lines(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    task, export, metrics = content["task"], content["export"], content.get("metrics")
    size, download = content["bytes"] / 1e6, content["download_bytes"] / 1e6
    yield "file", f"{content['file']}, {size:.2f} MB, {download:.2f} MB deflated"
    yield "task", f"{task['task']}, up to {task['max_length']} tokens"
    labels = task.get("labels", [])
    if labels:
        more = f", ... {len(labels)} in all" if len(labels) > _MOST_LABELS else ""
        yield "labels", ", ".join(labels[:_MOST_LABELS]) + more
    thresholds = [f"{label} {threshold}" for label, threshold in name_thresholds(task).items()]
    if thresholds:
        more = f", ... {len(thresholds)} in all" if len(thresholds) > _MOST_LABELS else ""
        yield "thresholds", ", ".join(thresholds[:_MOST_LABELS]) + more
    if "entries" in content:
        yield "entries", f"{content['entries']:,}"
    for key in ("recipe", "weights", "activations"):
        if key in export:
            yield key, str(export[key])
    if "lengths" in export:
        yield "lengths", ", ".join(map(str, export["lengths"]))
    if "operations" in content:
        yield "operations", ", ".join(f"{count} {kind}" for kind, count in content["operations"].items())
    if metrics:
        for task, table in Metrics.tables(metrics).items():
            yield from ((f"{task} {name}".strip(), value) for name, value in _figures(table))
    if content.get("self_test"):
        yield "self-test", content["self_test"]
    for name, version in export.get("libraries", {}).items():
        yield name, version
    for name, fingerprint in content.get("origin", {}).items():
        yield f"fingerprint of {name.replace('_', ' ')}", fingerprint


def _figures(metrics: Metrics) -> Iterator[tuple[str, str]]:
    """What was measured of the file that the folder is for, and of the teacher beside it."""
    for name in dict.fromkeys((metrics.shipped, "teacher")):
        if name in metrics.models:
            scores = metrics.models[name].metrics.items()
            yield name, ", ".join(f"{key.replace('_', ' ')} {format_score(value, key)}" for key, value in scores)
    if metrics.calibration is not None:
        temperature = metrics.calibration["temperature"]
        yield (
            "temperature",
            f"none: {metrics.calibration['no_temperature']}" if temperature is None else f"{temperature:.4f}",
        )
        yield "calibration", "; ".join(calibration_lines(metrics.calibration))
    seeds = len(metrics.score.seeds)
    rows = ", ".join(f"{count} {name}" for name, count in metrics.rows.items())
    yield "rows", f"{rows}; seed {metrics.kept} of {seeds}"


def read_accelerators(file: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Asks accelerators about a file; returns the fields of `keras_bert.accelerators.base.Coverage` by name.

    An accelerator that cannot be asked here, or that refuses the file, has the reason as its field `obstacle`.
    """
    from keras_bert.accelerators.base import AcceleratorError
    from keras_bert.accelerators.registry import find_accelerator, usual_chips
    from keras_bert.export.attachments import check_integrity
    from keras_bert.export.tflite_kinds import takes_text

    if file.suffix != ".tflite":
        raise InputError(f"--accelerators needs a .tflite file, got {file}")
    description = read_description(file)
    entries, export = description.get("entries", 1), description["export"]
    covered: dict[str, dict[str, Any]] = {}
    try:
        accelerators = [find_accelerator(name) for name in names or usual_chips()]
        check_integrity(file)
        if takes_text(file):
            raise InputError(f"--accelerators needs a file with token ids as inputs, got one that takes text, {file}")
    except ValueError as error:
        raise InputError(str(error)) from None
    for accelerator in accelerators:
        obstacle = accelerator.find_obstacle()
        try:
            if export:
                accelerator.check_recipe(export.get("recipe"))
            with temporary_folder() as folder:
                coverage = None if obstacle else accelerator.cover(file, Path(folder), entries - 1)
        except AcceleratorError as error:
            obstacle, coverage = str(error), None
        covered[accelerator.name] = {"obstacle": obstacle} if coverage is None else coverage._asdict()
    return covered


def accelerators_table(covered: Mapping[str, Mapping[str, Any]]) -> Table:
    """What each accelerator runs, in how many parts, and what it leaves to the processor."""
    rows = []
    for name, coverage in covered.items():
        if "obstacle" in coverage:
            rows.append([name, "", "", coverage["obstacle"]])
            continue
        left: dict[str, list[str]] = {}
        for kind_and_reason, count in coverage["left"].items():
            kind, _, reason = kind_and_reason.partition(": ")
            left.setdefault(reason or "left to the processor", []).append(f"{count} {kind}")
        remarks = [f"{label}: {value:g}" for label, value in coverage["figures"].items()]
        remarks += [f"{reason}: {', '.join(kinds)}" for reason, kinds in left.items()]
        if coverage["operators"]:
            remarks.append(f"operators to register: {', '.join(coverage['operators'])}")
        taken = f"{coverage['taken']} of {coverage['operations']}"
        rows.append([name, taken, str(coverage["parts"]), "\n".join(remarks)])
    return Table(["accelerator", "runs", "parts", "figures, and what is left to the processor"], rows, justify="left")
