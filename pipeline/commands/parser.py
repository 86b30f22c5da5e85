"""The parser of the whole command line."""

import argparse
from importlib.metadata import version
from typing import Any

from pipeline.commands.command import PROGRAM
from pipeline.commands.completion import SHELLS, PrintCompletion
from pipeline.commands.help import HelpFormatter, command_groups, example
from pipeline.commands.registry import GROUPS

_DESCRIPTION = """\
Trains a BERT on your text, or starts from a checkpoint, and makes a small, fast, measured model file for a device."""
_EPILOG = f"""\
{PROGRAM} COMMAND --help shows the options of a command, with an example.

exit status: 0 done, 1 a step failed, 2 bad input, 3 the model was not blessed, a limit cannot be met, or rows \
differ from a model's, 130 interrupted"""


class VerbParser(argparse.ArgumentParser):
    """Reads the arguments of a verb: options may stand between arguments without a name, whether these may be left out.

    argparse alone takes an argument that may be left out for missing where an option stands before it, as TEXT in
    `explain MODEL --method occlusion TEXT`.
    """

    _are_options_read = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Reads the options first, then what is left; both readings come back here."""
        if self._are_options_read:
            return super().parse_known_args(args, namespace)
        self._are_options_read = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._are_options_read = False


def make_parser() -> argparse.ArgumentParser:
    """A parser whose options hold the verb's `Command` as `command`."""
    listing = command_groups(
        (title, [(command.name, command.purpose) for command in commands]) for title, commands in GROUPS.items()
    )
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [-h] [--version] [--completion SHELL] COMMAND ...",
        description=_DESCRIPTION,
        epilog=f"{listing}\n{_EPILOG}",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version(PROGRAM)}")
    parser.add_argument(
        "--completion",
        choices=tuple(SHELLS),
        action=PrintCompletion,
        metavar="SHELL",
        help=f"print a script that completes commands and options in a shell ({', '.join(SHELLS)}), and exit",
    )
    verbs = parser.add_subparsers(
        prog=PROGRAM, required=True, metavar="COMMAND", help=argparse.SUPPRESS, parser_class=VerbParser
    )
    for command in (command for commands in GROUPS.values() for command in commands):
        verb = verbs.add_parser(
            command.name,
            description="\n\n".join(filter(None, (command.purpose, command.details))),
            epilog=example(f"{PROGRAM} {command.example}"),
            formatter_class=HelpFormatter,
        )
        command.add_arguments(verb)
        verb.set_defaults(command=command)
    return parser
