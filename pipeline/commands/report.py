"""`report`: writes a page about a run."""

import argparse

from rich.console import Console

from pipeline.commands.arguments import absolute_path, add_root
from pipeline.commands.command import DONE, Command
from pipeline.report.files import write_page
from pipeline.tracking.mlflow import send
from pipeline.views.terminal import write


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", type=int, metavar="RUN", help="a number that `status` shows (default: the newest run)"
    )
    parser.add_argument(
        "--out", type=absolute_path, metavar="FILE", help="the file to write (default: ROOT/reports/RUN.html)"
    )
    parser.add_argument(
        "--mlflow",
        metavar="URI",
        help="also log the run to this MLflow tracking server or folder, its pushed model as a pyfunc",
    )
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    write(console, f"report: {write_page(options.root, options.run, options.out)}")
    if options.mlflow is not None:
        sent = send(options.root, options.run, options.mlflow)
        result = f"is there already, as run {sent.id}" if sent.existed else f"run {sent.id}"
        write(console, f"sent to {options.mlflow}: {result}")
    return DONE


REPORT = Command(
    name="report",
    purpose="write a page about a run: its scores and worst answers, steps, data and trainings",
    details="The page is one HTML file that needs no network. Each run writes it; this command writes it again.",
    example="report 3 --out page.html",
    add_arguments=_add_arguments,
    run=_run,
)
