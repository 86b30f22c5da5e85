"""Runs pipelines of a job, and shows their progress on standard error."""

from pathlib import Path

from rich.console import Console

from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.runner import RunResult, run_pipeline
from pipeline.settings.schema import Settings
from pipeline.views.terminal import Terminal


def run(settings: Settings, pipeline: Pipeline, root: Path) -> RunResult:
    """Runs a pipeline; a failure ends the program with its message."""
    result = run_pipeline(pipeline, root, observer=Terminal(Console(stderr=True)), **settings.run_options())
    if result.state != "done":
        raise SystemExit(result.message)
    return result
