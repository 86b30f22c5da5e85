"""Finding out what rounding hurts: the run, and the files about it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.artifacts.diagnosis import DIAGNOSIS_FILE
from components.dsl.errors import InputError
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import BrokenError, run_pipeline
from pipeline.pipelines import examining
from pipeline.settings.schema import Settings
from pipeline.views.diagnosis import render_diagnosis
from pipeline.views.gain_plot import draw_gains
from pipeline.views.reports import write_report


def examine(settings: Settings, allowed_loss: float | None, root: Path, observer: Observer) -> dict[str, Any]:
    """Trains what is missing of the float model, and rounds it layer by layer.

    Args:
        settings: of a job with a quantization.
        allowed_loss: points that rounding may cost, see `diagnose`.
        root: of artifacts.
        observer: is told.

    Raises:
        InputError: nothing is rounded, the loss is below 0, or some input cannot be used.
        BrokenError: a step broke.
    """
    if settings.examples is None or settings.quantization is None:
        raise InputError("there must be [examples] and a [quantization] to look into")
    if allowed_loss is not None and not 0 <= allowed_loss <= 100:
        raise InputError(f"--fix must be from 0 to 100 points, got {allowed_loss:g}")
    pipeline = examining(settings, allowed_loss)
    pipeline.name += "/doctor"
    result = run_pipeline(pipeline, root, observer=observer, **settings.run_options())
    if result.state != "done":
        raise BrokenError(result.message)
    found = result.step("diagnose").outputs["diagnosis"].file(DIAGNOSIS_FILE)
    content: dict[str, Any] = json.loads(found.read_text())
    return {"name": settings.name, **content}


def write_diagnosis(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes `diagnosis.json`, `diagnosis.md` and the plot; gives the files."""
    return write_report("diagnosis", content, folder, render_diagnosis, draw_gains)
