"""`step`: runs one step of a job, for orchestrators that start each step as a command of its own."""

import argparse
import os

from rich.console import Console

from components.artifacts.evaluation import Evaluation
from components.objects.mirror import shown_place
from pipeline.commands.arguments import absolute_path, add_overrides, add_root, read_overrides
from pipeline.commands.command import DONE, FAILED, REFUSED, Command
from pipeline.job.files import load_settings
from pipeline.job.rules import check_data
from pipeline.orchestrator.single_step import RUN_VARIABLE, run_step
from pipeline.pipelines import build_pipeline
from pipeline.views.models import show_models
from pipeline.views.terminal import Terminal, write, write_warnings


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("step", metavar="STEP", help="its name, as `run --dry-run` shows it")
    parser.add_argument(
        "settings",
        metavar="JOB",
        nargs="?",
        type=absolute_path,
        help="the job, a TOML file (default: a job that needs no data of yours)",
    )
    parser.add_argument(
        "--run",
        metavar="ID",
        default=os.environ.get(RUN_VARIABLE) or None,
        help="the orchestrator's identifier of this run of the job: steps with the same one are recorded as one run "
        f"(default: the environment variable {RUN_VARIABLE}, else the step is a run of its own)",
    )
    add_overrides(parser)
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, read_overrides(options))
    write_warnings(console, check_data(settings))
    pipeline = build_pipeline(settings, options.root)
    observer = Terminal(console)
    result = run_step(
        pipeline, options.step, options.root, invocation=options.run, observer=observer, **settings.run_options()
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
        write(console, f"{name}: {shown_place(output.path)}")
    return DONE


STEP = Command(
    name="step",
    purpose="run one step of a job, whose inputs are done, as orchestrators do",
    details="Steps of one root may run at the same time, also on machines that share its file system or its address.",
    example="step fine_tune reviews.toml --root /shared/runs --run 2026-11-24",
    add_arguments=_add_arguments,
    run=_run,
)
