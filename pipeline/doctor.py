"""The diagnosis of quantization."""

from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import run_to_end
from pipeline.pipelines import diagnosis_pipeline
from pipeline.settings.schema import Settings


def diagnose_job(settings: Settings, allowed_loss: float | None, root: Path, observer: Observer) -> dict[str, Any]:
    """Trains the float model of a job, if need be, and measures the effect of quantization layer by layer.

    Returns:
        The content of `diagnosis.json`.

    Raises:
        InputError: the job has no quantization, the loss is not from 0 to 100, or an input cannot be used.
        RunFailedError: a step failed.
    """
    if settings.examples is None or settings.quantization is None:
        raise InputError("there must be [examples] and a [quantization] to look into")
    if allowed_loss is not None and not 0 <= allowed_loss <= 100:
        raise InputError(f"--fix must be from 0 to 100 points, got {allowed_loss:g}")
    pipeline, diagnosis = diagnosis_pipeline(settings, allowed_loss)
    pipeline.name += "/doctor"
    result = run_to_end(pipeline, root, observer=observer, **settings.run_options())
    return {"name": settings.name, **result.artifact(diagnosis).read()._asdict()}
