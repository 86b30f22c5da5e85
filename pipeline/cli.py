"""The entry point of the command line: exit statuses and errors of all verbs."""

import errno
from collections.abc import Sequence

from rich.console import Console

from components.dsl.errors import InputError
from components.objects.mirror import show_addresses
from pipeline.commands.arguments import open_addresses
from pipeline.commands.command import BAD_INPUT, FAILED, INTERRUPTED
from pipeline.commands.parser import make_parser
from pipeline.orchestrator.disk import is_disk_full
from pipeline.orchestrator.runner import RunFailedError
from pipeline.orchestrator.source_code import CodeError
from pipeline.views.terminal import open_console, write


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: see the epilog of `--help`."""
    options = make_parser().parse_args(arguments)
    console = open_console()
    try:
        open_addresses(options)
        return int(options.command.run(options, console))
    except (InputError, CodeError, RunFailedError) as error:
        write(Console(stderr=True), f"error: {show_addresses(str(error))}")
        return BAD_INPUT if isinstance(error, InputError) else FAILED
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            write(Console(stderr=True), f"error: a path must be short enough for the file system, got {error.filename}")
            return BAD_INPUT
        # Tables and figures are written outside of steps, which handle a full disk themselves.
        if not is_disk_full(error):
            raise
        write(Console(stderr=True), f"error: the disk must have space left, got {error}; make room, then go on")
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
