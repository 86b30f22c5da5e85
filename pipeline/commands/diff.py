"""`diff`: compares two runs."""

import argparse

from rich.console import Console

from pipeline.commands.arguments import add_root, open_store
from pipeline.commands.command import DONE, Command
from pipeline.provenance.difference import find_difference
from pipeline.views.provenance import show_difference


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("one", type=int, metavar="RUN", help="the number of a run")
    parser.add_argument("other", type=int, metavar="RUN", help="the number of another run")
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    with open_store(options.root) as store:
        difference = find_difference(store, options.root, options.one, options.other)
    show_difference(difference, options.one, options.other, console)
    return DONE


DIFF = Command(
    name="diff",
    purpose="compare settings and scores of two runs",
    example="diff 3 4",
    add_arguments=_add_arguments,
    run=_run,
)
