"""The rungs of a ladder: combinations of stages, trained and measured."""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from keras_bert.core.folders import TFLITE_FILE, TFLITE_FLOAT_FILE
from pipeline.capabilities import is_joint
from pipeline.chains import STAGES, Stage, enabled_stages
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import RunResult, run_to_end
from pipeline.settings.schema import Settings
from pipeline.views.pareto_plot import front_of
from plugins.compare.wiring import RungOutputs, ladder_pipeline

Record = dict[str, Any]

TEACHER = "teacher"
# Tokens of the texts that files are timed with.
LENGTHS = (32, 128)


def find_rungs(settings: Settings) -> dict[str, tuple[Stage, ...]]:
    """Rung name -> the stages that are applied to the teacher: single stages, and all combinations in their order."""
    if is_joint(settings):
        raise InputError("there must be [examples] to compress, got a job of several tasks; give each a job of its own")
    stages = enabled_stages(settings)
    if settings.examples is None or not stages:
        raise InputError(f"there must be [examples], and one or more of {', '.join(f'[{name}]' for name in STAGES)}")
    if "tflite" not in settings.export.runtimes:
        raise InputError(f"export.runtimes must hold 'tflite' for a ladder, got {list(settings.export.runtimes)}")
    combinations = [rung for count in range(len(stages) + 1) for rung in itertools.combinations(stages, count)]
    return {"+".join(rung) or TEACHER: rung for rung in combinations}


def run_ladder(
    settings: Settings, rungs: Mapping[str, tuple[Stage, ...]], root: Path, observer: Observer
) -> dict[str, Any]:
    """Trains and measures the rungs; returns the content of `ladder.json`."""
    lengths = [length for length in LENGTHS if length <= settings.max_length] or [settings.max_length]
    pipeline, outputs = ladder_pipeline(settings, rungs, lengths)
    pipeline.name += "/ladder"
    result = run_to_end(pipeline, root, observer=observer, **settings.run_options())
    records = {name: _read(stages, outputs[name], result) for name, stages in rungs.items()}
    first = records[TEACHER]
    content = {"name": settings.name, "seeds": len(first["score"]["seeds"]), "lengths": lengths}
    return {**content, "metric": first["metric"], "rows": first["rows"], "rungs": _with_shares(records)}


def _read(stages: Sequence[Stage], outputs: RungOutputs, result: RunResult) -> Record:
    metrics, timed = result.artifact(outputs.evaluation).read(), result.artifact(outputs.latency).read()
    file = TFLITE_FILE if TFLITE_FILE in timed else TFLITE_FLOAT_FILE
    return {
        "parts": list(stages),
        "file": str(result.artifact(outputs.edge).file(file)),
        "metric": metrics.metric,
        "rows": metrics.rows["test"],
        "score": metrics.score._asdict(),
        "parameters": result.artifact(outputs.model).manifest()["counts"]["parameters"],
        "megabytes": timed[file].bytes / 1e6,
        "milliseconds": timed[file].milliseconds,
    }


def _with_shares(records: Mapping[str, Record]) -> dict[str, Record]:
    """The records with the mean share of the teacher's score over seeds, and whether they are on the Pareto front."""
    teacher, completed = records[TEACHER]["score"]["seeds"], {}
    front = front_of({name: (record["megabytes"], -record["score"]["mean"]) for name, record in records.items()})
    for name, record in records.items():
        pairs = zip(record["score"]["seeds"], teacher, strict=True)
        share = statistics.fmean(score / reference if reference else 0.0 for score, reference in pairs)
        completed[name] = {**record, "share": share, "on_front": name in front}
    return completed
