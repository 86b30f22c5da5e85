"""`ladder`: measures each way of making a job's model smaller."""

import argparse

from rich.console import Console

from pipeline.commands.arguments import absolute_path, add_overrides, add_root, read_overrides
from pipeline.commands.command import DONE, Command
from pipeline.job.files import load_settings
from pipeline.job.rules import check_data
from pipeline.ladder.files import write_ladder
from pipeline.ladder.rungs import find_rungs, run_ladder
from pipeline.views.ladder import show_ladder
from pipeline.views.terminal import Terminal, write, write_warnings


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "settings",
        metavar="JOB",
        type=absolute_path,
        help="a job (TOML file) with [student], [pruning] or [quantization]",
    )
    add_overrides(parser)
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, read_overrides(options))
    rungs = find_rungs(settings)
    write_warnings(console, check_data(settings))
    content = run_ladder(settings, rungs, options.root, Terminal(console))
    show_ladder(content, console)
    for file in write_ladder(content, options.root / "ladders" / settings.name):
        write(console, f"written: {file}")
    return DONE


LADDER = Command(
    name="ladder",
    purpose="measure how much a student, pruning and quantization cost, alone and combined",
    example="ladder reviews.toml --seeds 3",
    add_arguments=_add_arguments,
    run=_run,
)
