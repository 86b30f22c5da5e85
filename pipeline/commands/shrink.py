"""`shrink`: searches for the best small model of a job."""

import argparse

from rich.console import Console

from pipeline.commands.arguments import absolute_path, add_overrides, add_root, read_overrides
from pipeline.commands.command import DONE, REFUSED, Command
from pipeline.job.files import load_settings
from pipeline.job.rules import check_data
from pipeline.search.files import write_student
from pipeline.search.limits import Limits, check_job
from pipeline.search.results import search_folder
from pipeline.search.student_search import StudentSearch
from pipeline.search.student_tables import show_student
from pipeline.views.terminal import Terminal, write, write_warnings


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("settings", metavar="JOB", type=absolute_path, help="a job (TOML file) with [examples]")
    parser.add_argument(
        "--max-megabytes", type=float, metavar="N", help="the most megabytes (10^6 bytes) of model.tflite"
    )
    parser.add_argument(
        "--max-milliseconds",
        type=float,
        metavar="N",
        help="the most milliseconds for a text of max_length tokens, on one thread of this machine",
    )
    parser.add_argument(
        "--min-share",
        type=float,
        default=0.95,
        metavar="N",
        help="the least share of the teacher's validation score (default: %(default)s)",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=60.0,
        metavar="N",
        help="time for the search, without the training of the teacher (default: %(default)g)",
    )
    add_overrides(parser)
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    limits = Limits.of(options.max_megabytes, options.max_milliseconds, options.min_share, options.minutes)
    settings = load_settings(options.settings, read_overrides(options))
    check_job(settings)
    write_warnings(console, check_data(settings))
    result = StudentSearch(settings, limits, options.root, Terminal(console)).run()
    show_student(result, console)
    for file in write_student(result, search_folder(options.root, settings.name, "student")):
        write(console, f"written: {file}")
    for reason in result.reasons():
        write(Console(stderr=True), f"error: {reason}")
    if not result.pushed:
        return REFUSED
    write(console, f"pushed: {result.pushed}")
    return DONE


SHRINK = Command(
    name="shrink",
    purpose="search for a job's best small model within limits of size and time, and push it",
    details="A search that was stopped is resumed by the same command.",
    example="shrink reviews.toml --max-megabytes 3 --max-milliseconds 2 --min-share 0.96 --minutes 60",
    add_arguments=_add_arguments,
    run=_run,
)
