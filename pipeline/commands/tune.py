"""`tune`: searches for the best settings of a job."""

import argparse
from typing import get_args

from rich.console import Console

from pipeline.commands.arguments import absolute_path, add_root, add_set
from pipeline.commands.command import DONE, Command
from pipeline.job.files import make_settings, override_tables, read_tables
from pipeline.job.rules import check_data
from pipeline.search.budget import SearchBudget
from pipeline.search.files import WINNER_FILE, write_settings
from pipeline.search.results import search_folder
from pipeline.search.settings_search import SettingsSearch, check_job
from pipeline.search.settings_tables import show_settings
from pipeline.search.study import Sampler, check_optuna
from pipeline.views.terminal import Terminal, write, write_warnings


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("settings", metavar="JOB", type=absolute_path, help="a job (TOML file) with [examples]")
    parser.add_argument(
        "--minutes",
        type=float,
        default=60.0,
        metavar="N",
        help="time for the search, without rows and initial models (default: %(default)g)",
    )
    parser.add_argument(
        "--trials",
        type=int,
        metavar="N",
        help="the most trials of each model, the teacher and the student (default: as many as the time allows)",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=3,
        metavar="N",
        help="seeds that the best few and the job's own settings are trained with (default: %(default)s)",
    )
    parser.add_argument(
        "--space",
        nargs="+",
        default=[],
        metavar="SETTING",
        help="the settings to search, such as fine_tuning.learning_rate (default: all that the job has; their values "
        "stand in [tune])",
    )
    parser.add_argument(
        "--sampler",
        choices=get_args(Sampler),
        default="tpe",
        help="what proposes values: tpe learns from earlier trials and prunes bad ones (default); random does neither",
    )
    add_set(parser)
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    budget = SearchBudget.of(options.minutes, options.trials, options.seeds)
    tables = override_tables(read_tables(options.settings), options.set)
    settings = make_settings(tables)
    check_job(settings)
    check_optuna()
    search = SettingsSearch(tables, options.space, budget, options.sampler, options.root, Terminal(console))
    write_warnings(console, check_data(settings))
    result = search.run()
    show_settings(result, console)
    folder = search_folder(options.root, settings.name, "" if options.sampler == "tpe" else options.sampler)
    for file in write_settings(result, tables, folder):
        write(console, f"written: {file}")
    write(console, f"next: keras-bert-edge run {folder / WINNER_FILE}")
    return DONE


TUNE = Command(
    name="tune",
    purpose="search for a job's best settings on its validation rows: rates, lengths, batches, pooling, depth",
    details="A search that was stopped is resumed by the same command. It needs Optuna: the extra `tune`.",
    example="tune reviews.toml --minutes 60 --seeds 3 --space fine_tuning.learning_rate fine_tuning.epochs",
    add_arguments=_add_arguments,
    run=_run,
)
