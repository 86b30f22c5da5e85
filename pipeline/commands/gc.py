"""`gc`: removes artifacts that nothing needs any more."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import DONE, Verb, open_store, root_option

if TYPE_CHECKING:
    from pipeline.orchestrator.records import Garbage
    from pipeline.orchestrator.root_store import RootStore


@click.command(cls=Verb, example="gc --keep 3 --dry-run")
@click.option(
    "--keep",
    type=int,
    default=1,
    metavar="N",
    help="Finished runs of each job that are kept, the newest ones.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, without deleting it.")
@root_option
def gc_command(options: SimpleNamespace, console: Console) -> int:
    """Delete artifacts and logs that nothing needs.

    Kept runs and pushed versions need theirs.
    """
    from components.objects.mirror import root_address
    from pipeline.orchestrator.opening import find_remote_roots
    from pipeline.orchestrator.root import locked_root
    from pipeline.provenance.garbage import find_garbage, remove_garbage
    from pipeline.views.provenance import show_garbage

    if options.keep < 1:
        raise InputError(f"--keep must be at least 1, got {options.keep}")
    find: Callable[[RootStore, Path, int], Garbage] = find_garbage
    remove: Callable[[RootStore, Path, Garbage], None] = remove_garbage
    if (address := root_address(options.root)) is not None:
        remote_roots = find_remote_roots(address)
        find, remove = remote_roots.find_garbage, remote_roots.remove_garbage
    # Only a removal must wait for a run that goes on.
    with open_store(options.root) as store, contextlib.ExitStack() as stack:
        place = None if options.dry_run else stack.enter_context(locked_root(options.root))
        garbage = find(store, options.root, options.keep)
        if place is not None:
            remove(store, options.root, garbage)
            place.sweep(store)
    show_garbage(garbage, console, is_removed=not options.dry_run)
    return DONE
