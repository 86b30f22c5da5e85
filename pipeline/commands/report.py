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
    "--mlflow",
    metavar="URI",
    help="Also log the run to this MLflow tracking server or folder, its pushed model as a pyfunc.",
)
@root_option
def report_command(options: SimpleNamespace, console: Console) -> int:
    """Write a page about a run.

    The page shows scores and worst answers, steps, data and trainings. It is one HTML file that needs no network.
    Each run writes it; this command writes it again.
    """
    from pipeline.report.page import write_page
    from pipeline.tracking.mlflow import send
    from pipeline.views.terminal import write

    write(console, f"report: {write_page(options.root, options.run, options.out)}")
    if options.mlflow is not None:
        sent = send(options.root, options.run, options.mlflow)
        result = f"is there already, as run {sent.id}" if sent.existed else f"run {sent.id}"
        write(console, f"sent to {options.mlflow}: {result}")
    return DONE
