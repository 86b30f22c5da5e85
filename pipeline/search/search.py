"""One search: for the best settings of a job, or with limits for its best small model."""

from collections.abc import Sequence
from pathlib import Path

from components.dsl.errors import InputError
from pipeline.job.files import Tables, make_settings
from pipeline.orchestrator.observer import Observer
from pipeline.search.budget import SearchBudget
from pipeline.search.limits import Limits, check_limited
from pipeline.search.settings_search import SettingsSearch
from pipeline.search.student_search import StudentSearch
from pipeline.search.study import Sampler, check_optuna

# Seeds of the best few where neither the command nor limits say how many.
_SEEDS = 3


def make_search(
    tables: Tables,
    limits: Limits | None,
    root: Path,
    observer: Observer,
    *,
    minutes: float = 60.0,
    trials: int | None = None,
    seeds: int | None = None,
    names: Sequence[str] = (),
    sampler: Sampler = "tpe",
) -> SettingsSearch | StudentSearch:
    """The search of a job, checked and not yet run.

    Raises:
        InputError: an option or the job cannot be used, or Optuna is not installed.
    """
    settings = make_settings(tables)
    if settings.examples is None:
        raise InputError("there must be [examples] to search settings or a model for")
    if limits is None:
        budget = SearchBudget.of(minutes, trials, _SEEDS if seeds is None else seeds)
        search = SettingsSearch(tables, names, budget, sampler, root, observer)
        check_optuna()
        return search
    for flag, is_given in (("trials", trials is not None), ("space", bool(names)), ("sampler", sampler != "tpe")):
        if is_given:
            raise InputError(f"--{flag} must be left out beside limits, within which shapes are searched, not settings")
    budget = SearchBudget.of(minutes, None, settings.seeds if seeds is None else seeds)
    check_limited(settings)
    return StudentSearch(settings.model_copy(update={"seeds": budget.seeds}), limits, budget, root, observer)
