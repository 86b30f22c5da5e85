"""`compile`: writes a job for an orchestrator."""

from types import SimpleNamespace

import click
from rich.console import Console

from components.dsl.errors import InputError, nearest
from pipeline.commands.command import DONE, OutputPath, Verb, any_job_argument, job_options, read_overrides


@click.command(
    cls=Verb,
    example="compile reviews.toml --to kubeflow --image registry/bert:1 --mount /runs --claim runs --out reviews.yaml",
)
@any_job_argument
@click.option("--to", required=True, metavar="TARGET", help="The orchestrator: kubeflow, airflow or argo.")
@click.option("--out", required=True, type=OutputPath(), metavar="FILE", help="The file to write.")
@click.option(
    "--image",
    default="",
    metavar="NAME",
    help="The container image of all steps, which has this project; for airflow it may be left out: then steps run on "
    "its workers.",
)
@click.option(
    "--job", default="", metavar="PATH", help="The path of the job in the containers. Default: its path here."
)
@click.option(
    "--mount",
    default="",
    metavar="PATH",
    help="The path of the root in the containers. Default: that of --root, whose earlier runs say how much memory and "
    "how many cores each step needs.",
)
@click.option("--claim", default="", metavar="NAME", help="The Kubernetes volume claim that is mounted there.")
@click.option("--gpus", type=int, default=0, metavar="N", help="GPUs of each step that trains.")
@job_options
def compile_command(options: SimpleNamespace, console: Console) -> int:
    """Write a job for Kubeflow Pipelines, Argo Workflows or Airflow.

    Each step is a container that runs `keras-bert-edge step`; all see the root, by a volume at one path or by its
    address in object storage.
    """
    from components.objects.mirror import display_path, root_address
    from pipeline.job.files import load_settings
    from pipeline.pipelines import build_pipeline
    from pipeline.views.reports import check_output
    from pipeline.views.terminal import write
    from plugins.compile.airflow import to_airflow
    from plugins.compile.argo import to_argo
    from plugins.compile.kubeflow import to_kubeflow
    from plugins.compile.steps import CompileOptions, compile_steps, find_needs, hub_overrides

    targets = {"kubeflow": to_kubeflow, "airflow": to_airflow, "argo": to_argo}
    if options.to not in targets:
        raise InputError(f"--to must be one of {', '.join(targets)}, got {options.to!r}{nearest(options.to, targets)}")
    if options.to != "airflow" and not options.image:
        raise InputError(f"--image must be set for {options.to}, which runs steps in containers alone")
    check_output(options.out)
    address = root_address(options.root)
    for name in ("mount", "claim"):
        if address is not None and getattr(options, name):
            raise InputError(
                f"--{name} must be left out with a root in object storage, which all steps reach by its address, got "
                f"{getattr(options, name)}"
            )
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
            overrides=(*overrides, *hub_overrides(settings)),
            root=options.mount or display_path(options.root),
            image=options.image,
            claim=options.claim,
            gpus=options.gpus,
        ),
    )
    options.out.write_text(targets[options.to](compiled), encoding="utf-8")
    measured = sum(node.component.name in needs for node in pipeline.nodes)
    note = f"{measured} of {len(compiled.steps)} steps with resources from earlier runs in {display_path(options.root)}"
    write(console, f"written: {options.out} ({note})")
    return DONE
