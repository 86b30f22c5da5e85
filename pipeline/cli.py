"""The entry point of the command line: exit statuses and errors of all commands."""

import errno
from collections.abc import Sequence

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import BAD_INPUT, FAILED, INTERRUPTED, PROGRAM
from pipeline.commands.program import program


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: see the epilog of `--help`."""
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


def _write_error(message: str) -> None:
    from components.objects.mirror import show_addresses
    from pipeline.views.terminal import write

    write(Console(stderr=True), f"error: {show_addresses(message)}")
