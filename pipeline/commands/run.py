"""`run`: runs a job."""

import argparse
from functools import partial

from rich.console import Console

from components.artifacts.evaluation import Blessing, Evaluation
from components.artifacts.pushed import Pushed
from components.artifacts.standard import EdgeModel
from components.objects.mirror import shown_place
from components.scoring.blessing import NOT_COMPARED
from keras_bert.core.folders import EXPORT_FILE
from keras_bert.training.cluster import find_cluster
from pipeline.capabilities import enabled_capabilities
from pipeline.commands.arguments import absolute_path, add_overrides, add_root, read_overrides
from pipeline.commands.command import DONE, FAILED, REFUSED, Command
from pipeline.job.files import load_settings
from pipeline.job.rules import check_data
from pipeline.orchestrator.chief import field_errors_as_input_errors
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.joining import join_trainings
from pipeline.orchestrator.preview import preview
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import build_pipeline
from pipeline.report.files import report_written_after
from pipeline.settings.schema import Settings
from pipeline.views.models import export_warnings, show_models
from pipeline.views.provenance import show_preview
from pipeline.views.terminal import Terminal, write, write_warnings
from pipeline.workload import TimeGuess, guess_seconds


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "settings",
        metavar="JOB",
        nargs="?",
        type=absolute_path,
        help="the job, a TOML file (default: a job that needs no data of yours)",
    )
    parser.add_argument("--to", metavar="STEP", help="stop after this step; only the steps that it needs run")
    parser.add_argument(
        "--from",
        dest="since",
        metavar="STEP",
        help="run this step and all later ones again; the steps before it must be done",
    )
    parser.add_argument(
        "--force",
        action="append",
        default=[],
        metavar="STEP",
        help="run this step even if nothing has changed; may be repeated",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show which steps would run, and why, without running them"
    )
    add_overrides(parser)
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, read_overrides(options))
    write_warnings(console, check_data(settings))
    pipeline = build_pipeline(settings, options.root)
    request = Request(to=options.to, since=options.since, force=tuple(options.force))
    with field_errors_as_input_errors():
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
        return _run_and_show(settings, pipeline, request, options, observer, console)


def _run_and_show(
    settings: Settings,
    pipeline: Pipeline,
    request: Request,
    options: argparse.Namespace,
    observer: Terminal,
    console: Console,
) -> int:
    result = run_pipeline(pipeline, options.root, request=request, observer=observer, **settings.run_options())
    for capability, _ in enabled_capabilities(settings):
        for output in (output for kind in capability.outputs for output in result.artifacts(kind)):
            write(console, capability.summarize(output))
    for evaluation in result.artifacts(Evaluation):
        show_models(evaluation.read(), console)
    reasons = [reason for blessing in result.artifacts(Blessing) for reason in blessing.read().reasons]
    not_compared = [reason for reason in reasons if reason.startswith(NOT_COMPARED)]
    write_warnings(Console(stderr=True), [*export_warnings(result.json_files(EdgeModel, EXPORT_FILE)), *not_compared])
    if result.state != "done":
        write(Console(stderr=True), f"error: {result.message}")
        return REFUSED if result.state == "refused" else FAILED
    if options.to is not None:
        for name, output in result.step(options.to).outputs.items():
            write(console, f"{name}: {shown_place(output.path)}")
    elif settings.examples is None:
        write(console, f"pre-trained: {shown_place(result.step('pretrain').outputs['model'].path)}")
    else:
        (pushed,) = result.artifacts(Pushed)
        write(console, f"pushed: {shown_place(pushed.location())}")
    return DONE


def _guess_seconds(settings: Settings, request: Request) -> TimeGuess | None:
    """The duration of a job in a new root; none of a part of it."""
    return None if request.to is not None else guess_seconds(settings)


RUN = Command(
    name="run",
    purpose="run a job, from data to model files; steps that are done and unchanged are skipped",
    example="run reviews.toml --seeds 3",
    add_arguments=_add_arguments,
    run=_run,
)
