"""`status`: lists the runs and artifacts of a root."""

import argparse

from rich.console import Console

from pipeline.commands.arguments import add_root, open_store
from pipeline.commands.command import DONE, Command
from pipeline.views.status import show_status


def _run(options: argparse.Namespace, console: Console) -> int:
    with open_store(options.root) as store:
        show_status(store, console)
    return DONE


STATUS = Command(
    name="status", purpose="list runs and artifacts", example="status --root runs", add_arguments=add_root, run=_run
)
