"""The page of all commands, generated from their parsers."""

import argparse

from pipeline.commands.command import PROGRAM, Command
from pipeline.commands.help import HelpFormatter, example
from pipeline.commands.registry import GROUPS

_HEAD = f"""\
# Commands

`{PROGRAM} COMMAND --help` prints the same. Exit status: 0 done, 1 a step failed, 2 bad input, 3 the model was not
blessed or a limit cannot be met, 130 interrupted.
"""


def commands_page() -> str:
    """Markdown: a section for each command, with its arguments and an example, in the groups of `--help`."""
    lines = [_HEAD]
    for title, commands in GROUPS.items():
        lines += [f"## {title[0].upper()}{title[1:]}", ""]
        for command in commands:
            lines += _section(command)
    return "\n".join(lines)


def _section(command: Command) -> list[str]:
    parser = argparse.ArgumentParser(prog=f"{PROGRAM} {command.name}", formatter_class=HelpFormatter, add_help=False)
    command.add_arguments(parser)
    formatter = HelpFormatter(parser.prog)
    rows = [
        f"| `{_name(action)}` | {_escape(formatter._expand_help(action))} |"
        for action in parser._actions
        if action.help is not argparse.SUPPRESS
    ]
    table = ["| argument | effect |", "| --- | --- |", *rows, ""] if rows else []
    sample = example(f"{PROGRAM} {command.example}").removeprefix("example:\n")
    lines = [f"### {command.name}", "", f"{command.purpose[0].upper()}{command.purpose[1:]}.", ""]
    if command.details:
        lines += [command.details, ""]
    return [*lines, *table, "```sh", *(line.removeprefix("  ") for line in sample.splitlines()), "```", ""]


def _name(action: argparse.Action) -> str:
    """An option with its value, or a positional argument, as a user types it."""
    value = action.metavar or (action.dest.upper() if action.option_strings and action.nargs != 0 else action.dest)
    words = value if isinstance(value, str) else " ".join(value)
    if not action.option_strings:
        return words
    return ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {words}")


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
