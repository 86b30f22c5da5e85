"""The entry point of the command line: its commands by goal, their exit statuses and errors."""

import codecs
import errno
import io
import json
import sys
from collections.abc import Sequence
from importlib import import_module

import click
from rich.console import Console

from components.dsl.errors import InputError
from keras_bert.core.plugins import find_plugins
from pipeline.commands.command import BAD_INPUT, FAILED, INTERRUPTED, OTHER_GOAL, PROGRAM
from pipeline.orchestrator.step_command import without_keras_settings

GROUPS: dict[str, tuple[str, ...]] = {
    "Make a model": ("init", "run", "schema"),
    "Use a model": ("predict", "describe"),
    "Choose settings": (),
    "Look at runs, and clean up": ("show", "report", "diff", "gc"),
    OTHER_GOAL: ("step",),
}


def command_groups() -> dict[str, Sequence[str]]:
    """Goal -> its commands, those of plug-ins behind the others."""
    groups: dict[str, list[str]] = {goal: [*names] for goal, names in GROUPS.items()}
    for name, plugin in sorted(find_plugins("commands").items()):
        groups.setdefault(plugin.load().goal, []).append(name)
    return {goal: names for goal, names in groups.items() if names}


class Program(click.Group):
    """The program; it imports a command when that is called, or listed in help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of help."""
        return [name for names in command_groups().values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """The command of a name."""
        command: click.Command
        if any(cmd_name in names for names in GROUPS.values()):
            command = getattr(import_module(f"pipeline.commands.{cmd_name}"), f"{cmd_name}_command")
        elif (plugin := find_plugins("commands").get(cmd_name)) is not None:
            command = plugin.load()
        else:
            message = f"There is no command {cmd_name!r}, here or in a plug-in that is installed."
            raise click.exceptions.NoSuchCommand(cmd_name, message, self.list_commands(ctx), ctx)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes a line for each command, below its goal."""
        for goal, names in command_groups().items():
            with formatter.section(goal):
                formatter.write_dl(
                    [(name.ljust(8), self.get_command(ctx, name).get_short_help_str(66)) for name in names]
                )


@click.command(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80, "show_default": True},
    no_args_is_help=False,
    epilog="Exit status: 0 done, 1 failed, 2 bad input, 3 refused, 130 interrupted.",
)
@click.version_option(package_name=PROGRAM, prog_name=PROGRAM, message="%(prog)s %(version)s")
def program() -> None:
    """Train a BERT on your text, or start from a checkpoint, and make a small, fast, measured model file for a device.

    COMMAND --help shows the options of a command, with an example.
    """


@without_keras_settings()
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: see the epilog of `--help`."""
    codecs.register_error("json", _write_as_json)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="json")
    try:
        return int(program.main(arguments, prog_name=PROGRAM, standalone_mode=False))
    except click.UsageError as error:
        _write_error(f"{error.format_message()} (see {error.ctx.command_path if error.ctx else PROGRAM} --help)")
        return BAD_INPUT
    except click.Abort:
        return INTERRUPTED
    except InputError as error:
        _write_error(str(error))
        return BAD_INPUT
    except OSError as error:
        from pipeline.orchestrator.disk import is_disk_full

        if error.errno == errno.ENAMETOOLONG:
            _write_error(f"a path must be short enough for the file system, got {error.filename}")
            return BAD_INPUT
        # Tables and figures are written outside of steps, which handle a full disk themselves.
        if not is_disk_full(error):
            raise
        _write_error(f"the disk must have space left, got {error}; make room, then go on")
        return BAD_INPUT
    except Exception as error:
        from pipeline.orchestrator.runner import RunFailedError
        from pipeline.orchestrator.source_code import CodeError

        if not isinstance(error, RunFailedError | CodeError):
            raise
        _write_error(str(error))
        return FAILED


def _write_as_json(error: UnicodeError) -> tuple[str, int]:
    r"""Writes characters that the encoding of the output lacks as JSON does, `\u00e9`, so that JSON stays valid."""
    assert isinstance(error, UnicodeEncodeError), "the output is only written"
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _write_error(message: str) -> None:
    from components.objects.mirror import show_addresses
    from pipeline.views.terminal import write

    write(Console(stderr=True), f"error: {show_addresses(message)}")
