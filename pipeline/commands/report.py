"""`report`: writes a page about a run."""

from types import SimpleNamespace

import click
from rich.console import Console

from pipeline.commands.command import DONE, OutputPath, Verb, root_option


@click.command(cls=Verb, example="report 3 --out page.html")
@click.argument(
    "run", required=False, type=int, metavar="[RUN]", help="A number that `show` lists. Default: the newest run."
)
@click.option("--out", type=OutputPath(), metavar="FILE", help="The file to write. Default: ROOT/reports/RUN.html.")
@click.option(
    "--track",
    nargs=2,
    metavar="TRACKER URI",
    help="Also send the run to a server or a store of runs, by a plug-in for it.",
)
@root_option
def report_command(options: SimpleNamespace, console: Console) -> int:
    """Write a page about a run.

    The page shows scores and worst answers, steps, data and trainings. It is one HTML file that needs no network.
    Each run writes it; this command writes it again.
    """
    from components.dsl.errors import input_errors
    from keras_bert.core.plugins import load_plugin
    from pipeline.report.page import write_page
    from pipeline.views.terminal import write

    with input_errors(""):
        send = load_plugin("trackers", options.track[0], "--track") if options.track else None
    write(console, f"report: {write_page(options.root, options.run, options.out)}")
    if send is not None:
        write(console, f"sent to {options.track[1]}: {send(options.root, options.run, options.track[1])}")
    return DONE
