"""How a command of the program is defined: click options, a function that runs it, and an example in its help."""

import re
from types import SimpleNamespace
from typing import Any

import click

from pipeline.commands.arguments import open_addresses

PROGRAM = "keras-bert-edge"

# Exit statuses; the epilog of `--help` lists them.
DONE, FAILED, BAD_INPUT, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130


class Verb(click.Command):
    """A command whose function takes all arguments as one object and a console, and returns the exit status.

    Args:
        example: the arguments of a command line that is likely to be useful, without the program's name.
    """

    def __init__(self, *arguments: Any, example: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the example."""
        formatter.write(f"\nExample:\n  {wrap_example(self.example)}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Downloads what addresses stand for, and calls the function."""
        from pipeline.views.terminal import open_console

        assert self.callback is not None
        options = SimpleNamespace(**ctx.params)
        open_addresses(options)
        return self.callback(options, open_console())


def wrap_example(example: str) -> str:
    """A command line to be shown and copied, in lines of at most 76 characters; it goes on before an option."""
    lines = [PROGRAM]
    for part in re.split(r" (?=--)", example):
        if len(lines[-1]) + len(part) > 73:
            lines.append("   ")
        lines[-1] += f" {part}"
    return " \\\n  ".join(lines)
