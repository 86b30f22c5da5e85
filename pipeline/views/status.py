"""The tables of `show`: a root's runs and artifacts, and the steps of a run."""

from rich.console import Console

from pipeline.orchestrator.store import Store
from pipeline.views.tables import Table
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
    Table(["run", "pipeline", "state", "started", "took"], runs, title="runs", justify="left").show(console)
    artifacts = [
        [str(made.run), made.artifact.type, made.artifact.fingerprint[:12], made.artifact.path or "(replaced)"]
        for made in store.artifacts()
    ]
    Table(["run", "type", "fingerprint", "path"], artifacts, title="artifacts", justify="left").show(console)


def show_run(store: Store, number: int, console: Console) -> None:
    """Draws the steps of a run.

    Raises:
        InputError: there is no such run.
    """
    run = store.run_of(number)
    steps = [
        [execution.node, execution.state, format_seconds(execution.seconds), execution.message]
        for execution in store.executions(number)
    ]
    title = f"run {number} of {run.pipeline}: {run.state}"
    Table(["step", "state", "took", "message"], steps, title=title, justify="left").show(console)
