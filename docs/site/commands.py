"""The page of all commands, generated from their click commands."""

import inspect

import click

from pipeline.cli import command_groups, program
from pipeline.commands.command import PROGRAM, Verb, wrap_example

_HEAD = f"""\
# Commands

`{PROGRAM} COMMAND --help` prints the same. Exit status: 0 done, 1 a step failed, 2 bad input, 3 the model was not
blessed, a limit cannot be met or rows differ from a model's, 130 interrupted.
"""


def commands_page() -> str:
    """Markdown: a section for each command, with its arguments and an example, in the groups of `--help`."""
    lines = [_HEAD]
    context = program.make_context(PROGRAM, [], resilient_parsing=True)
    for title, names in command_groups().items():
        lines += [f"## {title}", ""]
        for name in names:
            command = program.get_command(context, name)
            assert isinstance(command, Verb)
            lines += _section(command, click.Context(command, parent=context, info_name=name))
    return "\n".join(lines)


def _section(command: Verb, context: click.Context) -> list[str]:
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [f"| `{_escape(record[0])}` | {_escape(record[1])} |" for record in records if record is not None]
    table = ["| argument | effect |", "| --- | --- |", *rows, ""]
    text = inspect.cleandoc(command.help or "")
    return [f"### {command.name}", "", text, "", *table, "```sh", wrap_example(command.example), "```", ""]


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
