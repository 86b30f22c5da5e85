"""The rungs of a ladder, and what became of each."""

import itertools
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts.latency import LATENCY_FILE
from components.dsl.errors import InputError
from keras_bert.folders import TFLITE_FILE, TFLITE_FLOAT_FILE
from pipeline.chains import PARTS, Part, asked_parts
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import BrokenError, RunResult, run_pipeline
from pipeline.pipelines import climbing
from pipeline.settings.schema import Settings

Record = dict[str, Any]

TEACHER = "teacher"
# Tokens of the texts that answers are timed with.
LENGTHS = (32, 128)


def find_rungs(settings: Settings) -> dict[str, tuple[Part, ...]]:
    """Name -> the parts that make it of the teacher: each part alone, and all that can stand on one another.

    Raises:
        InputError: there is nothing to make smaller, or no file of LiteRT to measure.
    """
    parts = asked_parts(settings)
    if settings.examples is None or not parts:
        raise InputError(f"there must be [examples], and one or more of {', '.join(f'[{name}]' for name in PARTS)}")
    if "tflite" not in settings.export.runtimes:
        raise InputError(f"export.runtimes must hold 'tflite' for a ladder, got {list(settings.export.runtimes)}")
    chosen = [each for count in range(len(parts) + 1) for each in itertools.combinations(parts, count)]
    return {"+".join(each) or TEACHER: each for each in chosen}


def climb(settings: Settings, rungs: Mapping[str, tuple[Part, ...]], root: Path, observer: Observer) -> dict[str, Any]:
    """Makes and measures rungs; gives the content of `ladder.json`.

    Args:
        settings: of the job.
        rungs: some of what `find_rungs` finds; the teacher must be among them.
        root: where artifacts are kept.
        observer: hears of the steps.

    Raises:
        InputError: some input cannot be used.
        BrokenError: a step broke.
    """
    lengths = [length for length in LENGTHS if length <= settings.max_length] or [settings.max_length]
    pipeline = climbing(settings, rungs, lengths)
    pipeline.name += "/ladder"
    result = run_pipeline(pipeline, root, observer=observer, **settings.run_options())
    if result.state != "done":
        raise BrokenError(result.message)
    records = {name: _read(name, parts, settings, result) for name, parts in rungs.items()}
    content = {"name": settings.name, "seeds": settings.seeds, "lengths": lengths}
    first = records[TEACHER]
    return {**content, "metric": first["metric"], "rows": first["rows"], "rungs": _with_shares(records)}


def _read(name: str, parts: Sequence[Part], settings: Settings, result: RunResult) -> Record:
    measured = json.loads(result.step(f"evaluate-{name}").outputs["evaluation"].file("metrics.json").read_text())
    timed = json.loads(result.step(f"measure_latency-{name}").outputs["latency"].file(LATENCY_FILE).read_text())
    file = TFLITE_FILE if TFLITE_FILE in timed else TFLITE_FLOAT_FILE
    shipped = measured["models"][measured["shipped"]]
    edge = result.step(_step("export_model", parts, settings)).outputs["edge"]
    model = result.step(_last_step(parts, settings))
    return {
        "parts": list(parts),
        "file": str(edge.file(file)),
        "metric": measured["metric"],
        "rows": measured["rows"]["test"],
        "score": shipped["metrics"][measured["metric"]],
        "parameters": next(iter(model.outputs.values())).manifest()["counts"]["parameters"],
        "megabytes": timed[file]["bytes"] / 1e6,
        "milliseconds": timed[file]["milliseconds"],
    }


def _step(step: str, below: Sequence[Part], settings: Settings) -> str:
    """What a node of the first seed is called, see `Chain`."""
    return "-".join([step, *below, *(["0"] if settings.seeds > 1 else [])])


def _last_step(parts: Sequence[Part], settings: Settings) -> str:
    steps = {"student": "distill", "pruning": "prune", "quantization": "quantize"}
    return _step(steps[parts[-1]], parts[:-1], settings) if parts else _step("fine_tune", (), settings)


def _with_shares(records: Mapping[str, Record]) -> dict[str, Record]:
    """Each with the share of the teacher's score that it keeps, seed by seed, and whether another beats it in all."""
    teacher = records[TEACHER]["score"]["seeds"]
    found = {}
    for name, record in records.items():
        shares = [own / whole if whole else 0.0 for own, whole in zip(record["score"]["seeds"], teacher, strict=True)]
        found[name] = {**record, "share": statistics.fmean(shares), "on_front": _on_front(record, records.values())}
    return found


def _on_front(record: Record, records: Any) -> bool:
    """Whether no other is both smaller and better."""
    return not any(
        other["megabytes"] <= record["megabytes"]
        and other["score"]["mean"] >= record["score"]["mean"]
        and (other["megabytes"], -other["score"]["mean"]) != (record["megabytes"], -record["score"]["mean"])
        for other in records
    )
