"""`compile`: writes a job for an orchestrator."""

import argparse

from rich.console import Console

from components.dsl.errors import InputError
from components.objects.mirror import root_address, shown_place
from pipeline.commands.arguments import absolute_path, add_overrides, add_root, read_overrides
from pipeline.commands.command import DONE, Command
from pipeline.compiler.steps import CompileOptions, compile_steps, find_needs
from pipeline.compiler.targets import TARGETS, check_target
from pipeline.job.files import load_settings
from pipeline.pipelines import build_pipeline
from pipeline.views.reports import check_output
from pipeline.views.terminal import write


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "settings",
        metavar="JOB",
        nargs="?",
        type=absolute_path,
        help="the job, a TOML file (default: a job that needs no data of yours)",
    )
    parser.add_argument("--to", required=True, metavar="TARGET", help=f"the orchestrator: {', '.join(TARGETS)}")
    parser.add_argument("--out", required=True, type=absolute_path, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--image",
        default="",
        metavar="NAME",
        help="the container image of all steps, which has this project; for airflow it may be left out: then steps run "
        "on its workers",
    )
    parser.add_argument(
        "--job", default="", metavar="PATH", help="the path of the job in the containers (default: its path here)"
    )
    parser.add_argument(
        "--mount",
        default="",
        metavar="PATH",
        help="the path of the root in the containers (default: that of --root, whose earlier runs say how much memory "
        "and how many cores each step needs)",
    )
    parser.add_argument("--claim", default="", metavar="NAME", help="the Kubernetes volume claim that is mounted there")
    parser.add_argument(
        "--gpus", type=int, default=0, metavar="N", help="GPUs of each step that trains (default: %(default)s)"
    )
    add_overrides(parser)
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    check_target(options.to, options.image)
    check_output("--out", options.out)
    address = root_address(options.root)
    for name in ("mount", "claim"):
        if address is not None and getattr(options, name):
            rule = "must be left out with a root in object storage, which all steps reach by its address"
            raise InputError(f"--{name} {rule}, got {getattr(options, name)}")
    overrides = read_overrides(options)
    settings = load_settings(options.settings, overrides)
    pipeline = build_pipeline(settings, options.root)
    needs = find_needs(options.root, pipeline)
    compiled = compile_steps(
        pipeline,
        settings.machine,
        needs,
        CompileOptions(
            job_file=options.job or str(options.settings or ""),
            overrides=tuple(overrides),
            root=options.mount or shown_place(options.root),
            image=options.image,
            claim=options.claim,
            gpus=options.gpus,
        ),
    )
    options.out.write_text(TARGETS[options.to](compiled), encoding="utf-8")
    measured = sum(node.component.name in needs for node in pipeline.nodes)
    note = f"{measured} of {len(compiled.steps)} steps with resources from earlier runs in {shown_place(options.root)}"
    write(console, f"written: {options.out} ({note})")
    return DONE


COMPILE = Command(
    name="compile",
    purpose="write a job for an orchestrator: Kubeflow Pipelines, Argo Workflows or Airflow",
    details="Each step is a container that runs `keras-bert-edge step`; all see the root, by a volume at one path or "
    "by its address in object storage.",
    example="compile reviews.toml --to kubeflow --image registry/bert:1 --mount /runs --claim runs --out reviews.yaml",
    add_arguments=_add_arguments,
    run=_run,
)
