"""`why`: the reason why a step ran."""

import argparse

from rich.console import Console

from pipeline.commands.arguments import add_root, open_store
from pipeline.commands.command import DONE, Command
from pipeline.provenance.why import find_reason
from pipeline.views.provenance import show_reason


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("step", help="its name, as `run` shows it")
    parser.add_argument("--run", type=int, metavar="N", help="explain this run (default: the newest run with the step)")
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    with open_store(options.root) as store:
        show_reason(find_reason(store, options.step, options.run), console)
    return DONE


WHY = Command(
    name="why",
    purpose="show the changes since the last run that made a step run again",
    example="why fine_tune",
    add_arguments=_add_arguments,
    run=_run,
)
