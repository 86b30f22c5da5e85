"""The tables of `status`: a root's runs and artifacts."""

from rich.console import Console

from pipeline.orchestrator.store import Store
from pipeline.views.tables import show_grid
from pipeline.views.terminal import format_seconds, format_time


def show_status(store: Store, console: Console) -> None:
    """Draws the runs and artifacts of a store."""
    runs = [
        [
            str(run.id),
            run.pipeline if run.invocation is None else f"{run.pipeline} ({run.invocation})",
            run.state,
            format_time(run.started),
            "" if run.ended is None else format_seconds(run.ended - run.started),
        ]
        for run in store.runs()
    ]
    show_grid(["run", "pipeline", "state", "started", "took"], runs, console, title="runs", justify="left")
    artifacts = [
        [str(made.run), made.artifact.type, made.artifact.fingerprint[:12], made.artifact.path or "(replaced)"]
        for made in store.artifacts()
    ]
    show_grid(["run", "type", "fingerprint", "path"], artifacts, console, title="artifacts", justify="left")
