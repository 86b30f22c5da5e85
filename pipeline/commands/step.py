"""`step`: runs one step of a job, for orchestrators that start each step as a separate command."""

from types import SimpleNamespace

import click
from rich.console import Console

from pipeline.commands.command import DONE, FAILED, REFUSED, Verb, any_job_argument, job_options, load_job
from pipeline.orchestrator.step_command import RUN_VARIABLE


@click.command(cls=Verb, example="step fine_tune reviews.toml --root /shared/runs --run 2026-11-24")
@click.argument("step", metavar="STEP", help="Name of the step, as `run --dry-run` shows it.")
@any_job_argument
@click.option(
    "--run",
    metavar="ID",
    envvar=RUN_VARIABLE,
    help="The orchestrator's identifier of this run of the job: steps with the same ID are recorded as one run. "
    f"Default: the environment variable {RUN_VARIABLE}, else the step is a run of its own.",
)
@job_options
def step_command(options: SimpleNamespace, console: Console) -> int:
    """Run one step of a job, as orchestrators do.

    The steps that make its inputs must be done. Steps of one root may run at the same time, even on different machines
    that share the root.
    """
    from components.artifacts.evaluation import Evaluation
    from components.objects.mirror import display_path
    from pipeline.orchestrator.request import Request
    from pipeline.orchestrator.runner import run_pipeline
    from pipeline.pipelines import build_pipeline
    from pipeline.views.models import show_models
    from pipeline.views.terminal import Terminal, write

    settings = load_job(options.settings, options, console)
    pipeline = build_pipeline(settings, options.root)
    observer = Terminal(console)
    result = run_pipeline(
        pipeline,
        options.root,
        request=Request(only=options.step),
        invocation=options.run,
        observer=observer,
        **settings.run_options(),
    )
    (step,) = result.steps
    if result.state != "done":
        write(Console(stderr=True), f"error: {result.message}")
        return REFUSED if result.state == "refused" else FAILED
    for evaluation in result.artifacts(Evaluation):
        show_models(evaluation.read(), console)
    if step.state == "cached":
        write(console, f"{step.name} was done before")
    for name, output in step.outputs.items():
        write(console, f"{name}: {display_path(output.path)}")
    return DONE
