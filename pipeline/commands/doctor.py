"""`doctor`: finds the layers that quantization hurts."""

import argparse

from rich.console import Console

from pipeline.commands.arguments import absolute_path, add_overrides, add_root, read_overrides
from pipeline.commands.command import DONE, Command
from pipeline.doctor import diagnose_job, write_diagnosis
from pipeline.job.files import load_settings
from pipeline.job.rules import check_data
from pipeline.views.diagnosis import show_diagnosis
from pipeline.views.terminal import Terminal, write, write_warnings


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("settings", metavar="JOB", type=absolute_path, help="a job (TOML file) with [quantization]")
    parser.add_argument(
        "--fix",
        type=float,
        metavar="POINTS",
        help="find the fewest layers to keep in float32 so that quantization costs at most so many points",
    )
    add_overrides(parser)
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, read_overrides(options))
    write_warnings(console, check_data(settings))
    content = diagnose_job(settings, options.fix, options.root, Terminal(console))
    show_diagnosis(content, console)
    for file in write_diagnosis(content, options.root / "diagnosed" / settings.name):
        write(console, f"written: {file}")
    return DONE


DOCTOR = Command(
    name="doctor",
    purpose="find the layers that quantization hurts, and what keeping them in float32 costs",
    example="doctor reviews.toml --fix 0.3",
    add_arguments=_add_arguments,
    run=_run,
)
