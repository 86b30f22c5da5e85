"""`gc`: removes artifacts that nothing needs any more."""

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from components.dsl.errors import InputError
from components.objects.mirror import root_address
from pipeline.commands.arguments import add_root, open_store
from pipeline.commands.command import DONE, Command
from pipeline.orchestrator.root import locked_root
from pipeline.provenance.garbage import Garbage, find_garbage, remove_garbage
from pipeline.views.provenance import show_garbage


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep",
        type=int,
        default=1,
        metavar="N",
        help="finished runs of each job that are kept, the newest ones (default: 1)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be deleted, without deleting it")
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    if options.keep < 1:
        raise InputError(f"--keep must be at least 1, got {options.keep}")
    # Only a removal must wait for a run that goes on.
    with open_store(options.root) as store, contextlib.ExitStack() as stack:
        place = None if options.dry_run else stack.enter_context(locked_root(options.root))
        find, remove = _collector(options.root)
        garbage = find(store, options.root, options.keep)
        if place is not None:
            remove(store, options.root, garbage)
            place.sweep(store)
    show_garbage(garbage, console, is_removed=not options.dry_run)
    return DONE


def _collector(root: Path) -> tuple[Callable[[Any, Path, int], Garbage], Callable[[Any, Path, Garbage], None]]:
    """The functions that find and remove the garbage of a root; those for object storage are imported for a mirror."""
    if root_address(root) is None:
        return find_garbage, remove_garbage
    from pipeline.provenance.remote_garbage import find_remote_garbage, remove_remote_garbage

    return find_remote_garbage, remove_remote_garbage


GC = Command(
    name="gc",
    purpose="delete artifacts and logs that no kept run and no pushed version needs",
    example="gc --keep 3 --dry-run",
    add_arguments=_add_arguments,
    run=_run,
)
