"""`doctor`: finds the layers that quantization hurts."""

from types import SimpleNamespace

import click
from rich.console import Console

from pipeline.commands.arguments import job_argument, read_overrides, root_option, seeds_option, set_option
from pipeline.commands.command import DONE, Verb


@click.command(cls=Verb, example="doctor reviews.toml --fix 0.3")
@job_argument(" with [quantization]")
@click.option(
    "--fix",
    type=float,
    metavar="POINTS",
    help="Find the fewest layers to keep in float32 so that quantization costs at most so many points.",
)
@seeds_option
@set_option
@root_option
def doctor_command(options: SimpleNamespace, console: Console) -> int:
    """Find the layers that quantization hurts.

    It also measures what keeping them in float32 costs.
    """
    from pipeline.doctor import diagnose_job, write_diagnosis
    from pipeline.job.files import load_settings
    from pipeline.job.rules import check_data
    from pipeline.views.diagnosis import show_diagnosis
    from pipeline.views.terminal import Terminal, write, write_warnings

    settings = load_settings(options.settings, read_overrides(options))
    write_warnings(console, check_data(settings))
    content = diagnose_job(settings, options.fix, options.root, Terminal(console))
    show_diagnosis(content, console)
    for file in write_diagnosis(content, options.root / "diagnosed" / settings.name):
        write(console, f"written: {file}")
    return DONE
