"""`search`: searches for the best settings of a job, or for its best small model within limits."""

from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import DONE, REFUSED, Verb, job_argument, refresh_option, root_option, set_option

if TYPE_CHECKING:
    from pipeline.job.files import Tables
    from pipeline.orchestrator.observer import Observer
    from plugins.search.limits import Limits
    from plugins.search.settings_search import SettingsSearch
    from plugins.search.student_search import StudentSearch

# Seeds of the best few where neither the command nor limits say how many.
_SEEDS = 3


@click.command(cls=Verb, goal="Make a model", example="search reviews.toml --max-megabytes 3 --minutes 60")
@job_argument(" with [examples] or [tasks]")
@click.option(
    "--minutes",
    type=float,
    default=60.0,
    metavar="N",
    help="Time of trials, without rows and initial models.",
)
@click.option(
    "--seeds",
    type=int,
    metavar="N",
    help="Seeds of the best few and the job's own settings. Default: 3; within limits, the job's.",
)
@click.option("--max-megabytes", type=float, metavar="N", help="Maximum size of model.tflite, in 10^6 bytes.")
@click.option("--max-download-megabytes", type=float, metavar="N", help="Maximum size of its download, after deflate.")
@click.option(
    "--max-milliseconds",
    type=float,
    metavar="N",
    help="Maximum latency of a text of max_length tokens on one thread here, in milliseconds.",
)
@click.option(
    "--min-share",
    type=float,
    metavar="N",
    help="Minimum share of the teacher's validation score, beside a limit. Default: 0.95.",
)
@click.option(
    "--trials",
    type=int,
    metavar="N",
    help="The most trials of each model, if time allows.",
)
@click.option(
    "--space",
    multiple=True,
    metavar="SETTING",
    help="A setting to search, may be repeated; all by default, with the values in [search].",
)
@click.option(
    "--sampler",
    type=click.Choice(("tpe", "random")),
    default="tpe",
    help="Whether trials learn from earlier trials (tpe).",
)
@set_option
@refresh_option
@root_option
def search_command(options: SimpleNamespace, console: Console) -> int:
    """Search for a job's best settings, or its best model within limits.

    Settings are rates, lengths, batches, pooling and depth; their search needs Optuna, the extra `search`. With a
    --max option small shapes, vocabularies and recipes are searched, and the best model is pushed. Validation rows
    decide. A search that was stopped is resumed by the same command.
    """
    from pipeline.job.checks import check_data
    from pipeline.job.files import override_tables, read_tables
    from pipeline.views.terminal import Terminal, format_minutes, write, write_warnings
    from pipeline.workload import guess_seconds
    from plugins.search.files import WINNER_FILE, write_search
    from plugins.search.limits import Limits
    from plugins.search.results import StudentResult
    from plugins.search.tables import show_search

    measures = ("megabytes", "download_megabytes", "milliseconds")
    limits = Limits.of(options.min_share, **{name: getattr(options, f"max_{name}") for name in measures})
    tables = override_tables(read_tables(options.settings), options.set)
    search = _make_search(tables, limits, options, Terminal(console))
    warnings, guess = check_data(search.settings), guess_seconds(search.settings)
    if guess is not None and guess.alone > 60 * options.minutes:
        # Not refused: it is a guess, and the search measures before it refuses.
        took = f"takes about {format_minutes(*guess)} by a guess, and a search trains it several times"
        warnings.append(f"--minutes {options.minutes:g} is probably too short: this job {took}")
    write_warnings(console, warnings)
    result = search.run()
    show_search(result, console)
    for file in write_search(result, tables, search.runs.folder):
        write(console, f"written: {file}")
    if not isinstance(result, StudentResult):
        write(console, f"next: keras-bert-edge run {search.runs.folder / WINNER_FILE}")
        return DONE
    for reason in result.reasons():
        write(Console(stderr=True), f"error: {reason}")
    if not result.pushed:
        return REFUSED
    write(console, f"pushed: {result.pushed}")
    return DONE


def _make_search(
    tables: "Tables", limits: "Limits | None", options: SimpleNamespace, observer: "Observer"
) -> "SettingsSearch | StudentSearch":
    """The search of a job: for its best settings, or with limits for its best small model; checked and not yet run."""
    from pipeline.capabilities import is_joint
    from pipeline.job.files import make_settings
    from plugins.search.budget import SearchBudget
    from plugins.search.limits import check_limited
    from plugins.search.settings_search import SettingsSearch
    from plugins.search.student_search import StudentSearch
    from plugins.search.study import check_optuna

    settings, seeds = make_settings(tables), options.seeds
    if settings.examples is None and not is_joint(settings):
        raise InputError("there must be [examples] to search settings or a model for")
    if settings.distillation.teachers == "seeds":
        raise InputError(
            "distillation.teachers must be 'own' for a search, whose students have one teacher each, got 'seeds'; "
            "search with --set distillation.teachers=own"
        )
    if limits is None:
        budget = SearchBudget.of(options.minutes, options.trials, _SEEDS if seeds is None else seeds)
        search = SettingsSearch(tables, options.space, budget, options.sampler, options.root, observer)
        check_optuna()
        return search
    given = {"trials": options.trials is not None, "space": bool(options.space), "sampler": options.sampler != "tpe"}
    for flag, is_given in given.items():
        if is_given:
            raise InputError(f"--{flag} must be left out beside limits, within which shapes are searched, not settings")
    budget = SearchBudget.of(options.minutes, None, settings.seeds if seeds is None else seeds)
    check_limited(settings)
    return StudentSearch(settings.model_copy(update={"seeds": budget.seeds}), limits, budget, options.root, observer)
