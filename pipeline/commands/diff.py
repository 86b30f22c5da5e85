"""`diff`: compares two runs."""

from types import SimpleNamespace

import click
from rich.console import Console

from pipeline.commands.command import DONE, Verb, open_store, root_option


@click.command(cls=Verb, example="diff 3 4")
@click.argument("one", type=int, metavar="RUN", help="The number of a run.")
@click.argument("other", type=int, metavar="RUN", help="The number of another run.")
@root_option
def diff_command(options: SimpleNamespace, console: Console) -> int:
    """Compare settings and scores of two runs."""
    from pipeline.provenance.difference import find_difference
    from pipeline.views.provenance import show_difference

    with open_store(options.root) as store:
        difference = find_difference(store, options.root, options.one, options.other)
    show_difference(difference, options.one, options.other, console)
    return DONE
