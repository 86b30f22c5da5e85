"""The reasons of a job's models: the run that compares them."""

from pathlib import Path

from components.artifacts.measurements import ExplanationReport
from components.dsl.errors import InputError
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import run_to_end
from pipeline.pipelines import explanation_pipeline
from pipeline.settings.schema import Settings


def explain_job(settings: Settings, rows: int, root: Path, observer: Observer) -> ExplanationReport:
    """Makes the models of a job, if need be, and compares their reasons on validation rows.

    Raises:
        InputError: the job has no examples, there are no rows, or an input cannot be used.
        RunFailedError: a step failed.
    """
    if settings.examples is None:
        raise InputError("there must be [examples] to explain")
    if rows < 1:
        raise InputError(f"--rows must be at least 1, got {rows}")
    pipeline, explanation = explanation_pipeline(settings, rows)
    pipeline.name += "/explain"
    result = run_to_end(pipeline, root, observer=observer, **settings.run_options())
    return result.artifact(explanation).read()
