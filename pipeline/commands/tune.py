"""`tune`: searches for the best settings of a job."""

from types import SimpleNamespace

import click
from rich.console import Console

from pipeline.commands.command import DONE, Verb, job_argument, root_option, set_option


@click.command(cls=Verb, example="tune reviews.toml --minutes 60 --seeds 3 --space fine_tuning.learning_rate")
@job_argument(" with [examples]")
@click.option(
    "--minutes", type=float, default=60.0, metavar="N", help="Time for the search, without rows and initial models."
)
@click.option(
    "--trials",
    type=int,
    metavar="N",
    help="The most trials of each model, the teacher and the student. Default: as many as the time allows.",
)
@click.option(
    "--seeds",
    type=int,
    default=3,
    metavar="N",
    help="Seeds that the best few and the job's own settings are trained with.",
)
@click.option(
    "--space",
    multiple=True,
    metavar="SETTING",
    help="A setting to search, such as fine_tuning.learning_rate; may be repeated. Default: all that the job has; "
    "their values stand in [tune].",
)
@click.option(
    "--sampler",
    type=click.Choice(("tpe", "random")),
    default="tpe",
    help="What proposes values: tpe learns from earlier trials and prunes bad ones (default); random does neither.",
)
@set_option
@root_option
def tune_command(options: SimpleNamespace, console: Console) -> int:
    """Search for a job's best settings on its validation rows.

    The settings are rates, lengths, batches, pooling and depth. A search that was stopped is resumed by the same
    command. It needs Optuna: the extra `tune`.
    """
    from pipeline.job.files import make_settings, override_tables, read_tables
    from pipeline.job.rules import check_data
    from pipeline.search.budget import SearchBudget
    from pipeline.search.files import WINNER_FILE, write_settings
    from pipeline.search.results import search_folder
    from pipeline.search.settings_search import SettingsSearch, check_job
    from pipeline.search.settings_tables import show_settings
    from pipeline.search.study import check_optuna
    from pipeline.views.terminal import Terminal, write, write_warnings

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
