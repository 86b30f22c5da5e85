"""A verb of the command line: its help, its arguments and its action."""

import argparse
import dataclasses
from collections.abc import Callable

from rich.console import Console

PROGRAM = "keras-bert-edge"

# Exit statuses; the epilog of `--help` lists them.
DONE, FAILED, BAD_INPUT, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """One verb.

    Attributes:
        name: the verb as a user types it.
        purpose: its line in `--help`, and the first paragraph of its own help.
        details: a second paragraph of its own help; may be empty.
        example: the arguments of a command line that is likely to be useful, without the program's name.
        add_arguments: adds the verb's arguments to its parser.
        run: runs the verb, given the parsed arguments and a console for output; returns the exit status.
    """

    name: str
    purpose: str
    details: str = ""
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Console], int]
