"""`doctor`: finds the layers that quantization hurts."""

from types import SimpleNamespace

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import DONE, Verb, job_argument, job_options, load_job


@click.command(cls=Verb, goal="Choose settings", example="doctor reviews.toml --fix 0.3")
@job_argument(" with [quantization]")
@click.option(
    "--fix",
    type=float,
    metavar="POINTS",
    help="Find the fewest layers to keep in float32 so that quantization costs at most so many points.",
)
@job_options
def doctor_command(options: SimpleNamespace, console: Console) -> int:
    """Find the layers that quantization hurts.

    It also measures what keeping them in float32 costs.
    """
    from keras_bert.options.quantization import RECIPES
    from pipeline.capabilities import is_joint
    from pipeline.orchestrator.runner import run_to_end
    from pipeline.views.reports import write_report
    from pipeline.views.terminal import Terminal, write
    from plugins.doctor.table import diagnosis_table, draw_gains
    from plugins.doctor.wiring import diagnosis_pipeline

    settings = load_job(options.settings, options, console)
    if is_joint(settings):
        raise InputError(
            "there must be [examples] to look into, got a job of several tasks; give each a job of its own"
        )
    if settings.examples is None or settings.quantization is None:
        raise InputError("there must be [examples] and a [quantization] to look into")
    if not RECIPES[settings.quantization.recipe].integers:
        raise InputError(
            f"quantization.recipe must have integers to be diagnosed, got {settings.quantization.recipe!r}; --set "
            "quantization.recipe=mixed_wi8_ai8 diagnoses another recipe"
        )
    if options.fix is not None and not 0 <= options.fix <= 100:
        raise InputError(f"--fix must be from 0 to 100 points, got {options.fix:g}")
    pipeline, diagnosis = diagnosis_pipeline(settings, options.fix)
    pipeline.name += "/doctor"
    result = run_to_end(pipeline, options.root, observer=Terminal(console), **settings.run_options())
    content = {"name": settings.name, **result.artifact(diagnosis).read()._asdict()}
    diagnosis_table(content, is_whole=False).show(console)
    folder = options.root / "diagnosed" / settings.name
    for file in write_report("diagnosis", content, folder, diagnosis_table(content).as_markdown(), draw_gains):
        write(console, f"written: {file}")
    return DONE
