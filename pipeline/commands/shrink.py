"""`shrink`: searches for the best small model of a job."""

from types import SimpleNamespace

import click
from rich.console import Console

from pipeline.commands.command import DONE, REFUSED, Verb, job_argument, job_options, read_overrides


@click.command(
    cls=Verb, example="shrink reviews.toml --max-megabytes 3 --max-milliseconds 2 --min-share 0.96 --minutes 60"
)
@job_argument(" with [examples]")
@click.option(
    "--max-megabytes", type=float, metavar="N", help="Maximum size of model.tflite, in megabytes (10^6 bytes)."
)
@click.option(
    "--max-milliseconds",
    type=float,
    metavar="N",
    help="Maximum latency for a text of max_length tokens on one thread of this machine, in milliseconds.",
)
@click.option(
    "--min-share", type=float, default=0.95, metavar="N", help="Minimum share of the teacher's validation score."
)
@click.option(
    "--minutes", type=float, default=60.0, metavar="N", help="Time for the search, without the training of the teacher."
)
@job_options
def shrink_command(options: SimpleNamespace, console: Console) -> int:
    """Search for the best model of a job within limits, and push it.

    A search that was stopped is resumed by the same command.
    """
    from pipeline.job.files import load_settings
    from pipeline.job.rules import check_data
    from pipeline.search.files import write_student
    from pipeline.search.limits import Limits, check_job
    from pipeline.search.results import search_folder
    from pipeline.search.student_search import StudentSearch
    from pipeline.search.student_tables import student_table
    from pipeline.views.terminal import Terminal, write, write_warnings

    limits = Limits.of(options.max_megabytes, options.max_milliseconds, options.min_share, options.minutes)
    settings = load_settings(options.settings, read_overrides(options))
    check_job(settings)
    write_warnings(console, check_data(settings))
    result = StudentSearch(settings, limits, options.root, Terminal(console)).run()
    student_table(result).show(console)
    for file in write_student(result, search_folder(options.root, settings.name, "student")):
        write(console, f"written: {file}")
    for reason in result.reasons():
        write(Console(stderr=True), f"error: {reason}")
    if not result.pushed:
        return REFUSED
    write(console, f"pushed: {result.pushed}")
    return DONE
