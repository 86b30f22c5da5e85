"""`doctor`: finds the layers that quantization hurts."""

from types import SimpleNamespace

import click
from rich.console import Console

from pipeline.commands.command import DONE, Verb, job_argument, job_options, load_job


@click.command(cls=Verb, example="doctor reviews.toml --fix 0.3")
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
    from pipeline.doctor import diagnose_job
    from pipeline.views.diagnosis import diagnosis_table, draw_gains
    from pipeline.views.reports import write_report
    from pipeline.views.terminal import Terminal, write

    settings = load_job(options.settings, options, console)
    content = diagnose_job(settings, options.fix, options.root, Terminal(console))
    diagnosis_table(content, is_whole=False).show(console)
    folder = options.root / "diagnosed" / settings.name
    for file in write_report("diagnosis", content, folder, diagnosis_table(content).as_markdown(), draw_gains):
        write(console, f"written: {file}")
    return DONE
