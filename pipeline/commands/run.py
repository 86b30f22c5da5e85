"""`run`: runs a job."""

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
from rich.console import Console

from pipeline.commands.command import DONE, FAILED, REFUSED, Verb, any_job_argument, job_options, load_job

if TYPE_CHECKING:
    from pipeline.orchestrator.request import Request
    from pipeline.orchestrator.runner import RunResult
    from pipeline.settings.schema import Settings
    from pipeline.workload import TimeGuess


@click.command(cls=Verb, example="run reviews.toml --seeds 3")
@any_job_argument
@click.option("--to", metavar="STEP", help="Stop after this step; only the steps that it needs run.")
@click.option(
    "--from", "since", metavar="STEP", help="Run this step and all later ones again; the steps before it must be done."
)
@click.option(
    "--force", multiple=True, metavar="STEP", help="Run this step even if nothing has changed; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Show which steps would run, and why, without running them.")
@job_options
def run_command(options: SimpleNamespace, console: Console) -> int:
    """Run a job, from data to model files; finished steps are skipped."""
    from components.dsl.errors import input_errors
    from keras_bert.training.cluster import find_cluster
    from pipeline.orchestrator.joining import join_trainings
    from pipeline.orchestrator.preview import preview
    from pipeline.orchestrator.request import Request
    from pipeline.orchestrator.runner import run_pipeline
    from pipeline.pipelines import build_pipeline
    from pipeline.report.page import report_written_after
    from pipeline.views.provenance import show_preview
    from pipeline.views.terminal import Terminal, write

    settings = load_job(options.settings, options, console)
    pipeline = build_pipeline(settings, options.root)
    request = Request(to=options.to, since=options.since, force=tuple(options.force))
    with input_errors(""):
        cluster = find_cluster()
    if cluster is not None and not cluster.is_chief and not options.dry_run:
        join_seconds = settings.machine.join_seconds
        is_done = join_trainings(options.root, cluster, join_seconds, lambda text: write(console, text))
        return DONE if is_done else FAILED
    if options.dry_run:
        show_preview(preview(pipeline, options.root, request), console, partial(_guess_seconds, settings, request))
        return DONE
    observer = Terminal(console, partial(_guess_seconds, settings, request))
    with report_written_after(
        options.root, observer, observer.say, lambda text: write(Console(stderr=True), f"warning: {text}")
    ):
        result = run_pipeline(pipeline, options.root, request=request, observer=observer, **settings.run_options())
        return _show(result, settings, options.to, console)


def _show(result: "RunResult", settings: "Settings", last_step: str | None, console: Console) -> int:
    from components.artifacts.evaluation import Blessing, Evaluation
    from components.artifacts.pushed import Pushed
    from components.artifacts.standard import EdgeModel
    from components.objects.mirror import display_path
    from components.scoring.blessing import NOT_COMPARED
    from keras_bert.core.folders import EXPORT_FILE
    from pipeline.capabilities import enabled_capabilities
    from pipeline.views.models import export_warnings, show_models
    from pipeline.views.terminal import write, write_warnings

    for capability, _ in enabled_capabilities(settings):
        for output in (output for kind in capability.outputs for output in result.artifacts(kind)):
            write(console, capability.summarize(output))
    evaluations = result.artifacts(Evaluation)
    for evaluation in evaluations:
        # A job of several tasks has an evaluation of each.
        show_models(evaluation.read(), console, evaluation.path.parent.name if len(evaluations) > 1 else "")
    pushed, warnings = result.artifacts(Pushed), export_warnings(result.json_files(EdgeModel, EXPORT_FILE))
    for blessing in result.artifacts(Blessing):
        reasons, step = blessing.read().reasons, blessing.path.parent.name
        warnings += [reason for reason in reasons if reason.startswith(NOT_COMPARED)]
        # Files are pushed without the blessing of a task that is not required.
        missed = [reason.removeprefix("NO: ") for reason in reasons if reason.startswith("NO: ")]
        warnings += [f"{step}, which is not required: {reason}" for reason in missed if pushed]
    write_warnings(Console(stderr=True), warnings)
    if result.state != "done":
        write(Console(stderr=True), f"error: {result.message}")
        return REFUSED if result.state == "refused" else FAILED
    if last_step is not None:
        for name, output in result.step(last_step).outputs.items():
            write(console, f"{name}: {display_path(output.path)}")
    elif pushed:
        write(console, f"pushed: {display_path(pushed[0].location())}")
    else:
        write(console, f"pre-trained: {display_path(result.step('pretrain').outputs['model'].path)}")
    return DONE


def _guess_seconds(settings: "Settings", request: "Request") -> "TimeGuess | None":
    """A guess of the duration of a job in a new root; None if only a part of it runs."""
    from pipeline.workload import guess_seconds

    return None if request.to is not None else guess_seconds(settings)
