"""`gc`: removes artifacts that nothing needs any more."""

import contextlib
from types import SimpleNamespace
from typing import Any

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import DONE, Verb, open_store, root_option


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
    from pipeline.orchestrator.root import locked_root
    from pipeline.provenance.garbage import find_garbage, remove_garbage
    from pipeline.views.provenance import show_garbage

    if options.keep < 1:
        raise InputError(f"--keep must be at least 1, got {options.keep}")
    find: Any = find_garbage
    remove: Any = remove_garbage
    if root_address(options.root) is not None:
        from pipeline.provenance.remote_garbage import find_remote_garbage, remove_remote_garbage

        find, remove = find_remote_garbage, remove_remote_garbage
    # Only a removal must wait for a run that goes on.
    with open_store(options.root) as store, contextlib.ExitStack() as stack:
        place = None if options.dry_run else stack.enter_context(locked_root(options.root))
        garbage = find(store, options.root, options.keep)
        if place is not None:
            remove(store, options.root, garbage)
            place.sweep(store)
    show_garbage(garbage, console, is_removed=not options.dry_run)
    return DONE
