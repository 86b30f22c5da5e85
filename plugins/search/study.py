"""The trials of one stage of a search, in Optuna's storage, from which an interrupted search continues."""

import contextlib
import itertools
import math
import sqlite3
import statistics
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from components.dsl.errors import InputError, install_command
from pipeline.orchestrator.disk import full_disk_error, is_disk_full
from plugins.search.space import Dimension

Sampler = Literal["tpe", "random"]
TrialState = Literal["done", "pruned", "rejected"]

# The file of all studies of a job.
STUDIES_FILE = "studies.sqlite3"
# The number of random trials before the sampler learns from earlier trials, and before trials are pruned.
STARTUP_TRIALS = 5
# `Study.importances` fits a regression to the scores, which needs this many trials.
MIN_TRIALS_FOR_IMPORTANCE = 20
# After this many repeated proposals in a row, nearly all values of the space have been tried.
_MAX_REPEATED = 20
# The number of parts of a range in the table of the scores by setting.
_PARTS = 3
_COSTS, _REASON, _REPEATED = "costs", "reason", "repeated"


class Trial(NamedTuple):
    """A trial that has ended; one is `rejected` if its values cannot be trained with, and scored if it is `done`."""

    number: int
    values: dict[str, Any]
    state: TrialState
    score: float | None
    validations: tuple[float, ...]
    reason: str
    seconds: float


class OpenTrial:
    """A trial that is running, or that was stopped and goes on."""

    def __init__(self, trial: Any, dimensions: Sequence[Dimension]) -> None:
        self._trial = trial
        self.number: int = trial.number
        self.values = _read_values(trial, dimensions)

    def report(self, validations: Sequence[float]) -> bool:
        """Records the values of all validations so far, and returns whether the trial should be pruned now."""
        reported = len(self._trial.study.trials[self.number].intermediate_values)
        for step, value in enumerate(validations[reported:], start=reported + 1):
            self._trial.report(value, step)
        return len(validations) > 0 and bool(self._trial.should_prune())

    def end(self, state: TrialState, costs: Mapping[str, float], score: float | None = None, reason: str = "") -> None:
        """Records the result."""
        import optuna

        self._trial.set_user_attr(_COSTS, dict(costs))
        self._trial.set_user_attr(_REASON, reason)
        if state == "done":
            self._trial.study.tell(self.number, score)
        else:
            self._trial.study.tell(self.number, state=optuna.trial.TrialState.PRUNED)


def _read_values(trial: Any, dimensions: Sequence[Dimension]) -> dict[str, Any]:
    """The values of a trial of Optuna's, rounded as the dimensions say."""
    return {dimension.name: dimension.round(trial.params[dimension.name]) for dimension in dimensions}


class Study:
    """The trials of one stage of one search.

    A proposal only depends on the trials before it, so that a resumed search makes the same proposals. `name`
    identifies the stage, its space, and all that its trials share. Only the tree-structured Parzen estimator prunes.
    """

    def __init__(self, folder: Path, name: str, dimensions: Sequence[Dimension], sampler: Sampler) -> None:
        import optuna
        import sqlalchemy

        self._optuna, self._dimensions, self._sampler = optuna, dimensions, sampler
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        file = folder / STUDIES_FILE
        pruner = optuna.pruners.NopPruner()
        if sampler == "tpe":
            pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS)
        try:
            # A path may hold characters that stand for something in a URL.
            engine = {"creator": lambda: sqlite3.connect(file, timeout=60), "poolclass": sqlalchemy.pool.NullPool}
            storage = optuna.storages.RDBStorage("sqlite://", engine_kwargs=engine)
            self._study = optuna.create_study(
                storage=storage, study_name=name, direction="maximize", pruner=pruner, load_if_exists=True
            )
            # Reads all trials, as errors in stored JSON and dates are only found then.
            self.trials()
            numbers = [trial.number for trial in self._study.get_trials(deepcopy=False)]
            if numbers != list(range(len(numbers))):
                raise ValueError(f"trials with the numbers {numbers}")
        except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(
                f"{file} must hold studies that this version of Optuna can read, got: "
                f"{_one_line(error) or type(error).__name__}; move it away to start over"
            ) from None

    def add_baseline(self, score: float, validations: Sequence[float]) -> None:
        """Adds the job's own settings as the first trial, once, if they lie in the space."""
        are_allowed = all(dimension.allows(dimension.default) for dimension in self._dimensions)
        if self._study.get_trials(deepcopy=False) or not are_allowed:
            return
        self._study.add_trial(
            self._optuna.create_trial(
                params={dimension.name: dimension.default for dimension in self._dimensions},
                distributions=self._distributions(),
                value=score,
                intermediate_values=dict(enumerate(validations, start=1)),
                user_attrs={_REPEATED: True},
            )
        )

    def trials(self) -> list[Trial]:
        """The trials that have ended, in their order; the job's own settings are not among them."""
        trials = []
        for trial in self._ended():
            is_done = trial.state == self._optuna.trial.TrialState.COMPLETE
            reason, seconds = trial.user_attrs[_REASON], sum(trial.user_attrs[_COSTS].values())
            values = _read_values(trial, self._dimensions)
            state: TrialState = "done" if is_done else "rejected" if reason else "pruned"
            validations = tuple(value for _, value in sorted(trial.intermediate_values.items()))
            score = trial.value if is_done else None
            trials.append(Trial(trial.number, values, state, score, validations, reason, seconds))
        return trials

    def costs(self) -> list[dict[str, float]]:
        """The seconds of each trial that has ended, by the path of a step's output, or by another name."""
        return [trial.user_attrs[_COSTS] for trial in self._ended()]

    def _ended(self) -> list[Any]:
        states = self._optuna.trial.TrialState
        ended = self._study.get_trials(deepcopy=False, states=(states.COMPLETE, states.PRUNED))
        return [trial for trial in ended if _REPEATED not in trial.user_attrs]

    def propose(self, earlier: Sequence[Mapping[str, Any]] = ()) -> OpenTrial | None:
        """The trial that was interrupted, or a new one; None if nearly all values of the space were tried."""
        stopped = self.stopped_trial()
        if stopped is not None:
            return stopped
        tried = [*earlier, *(trial.values for trial in self.trials())]
        for _ in range(_MAX_REPEATED):
            # Each trial has its own random generator, because the state of one is lost in an interruption.
            seed, samplers = len(self._study.get_trials(deepcopy=False)), self._optuna.samplers
            with warnings.catch_warnings():
                # `multivariate` may change its results in a later version.
                warnings.simplefilter("ignore", self._optuna.exceptions.ExperimentalWarning)
                self._study.sampler = (
                    samplers.RandomSampler(seed=seed)
                    if self._sampler == "random"
                    else samplers.TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS, multivariate=True)
                )
            trial = OpenTrial(self._study.ask(self._distributions()), self._dimensions)
            if trial.values not in tried:
                return trial
            self._study.tell(trial.number, state=self._optuna.trial.TrialState.FAIL)
        return None

    def stopped_trial(self) -> OpenTrial | None:
        """The trial that was running when the search was stopped; None if it was stopped between trials."""
        state = self._optuna.trial.TrialState
        names = {dimension.name for dimension in self._dimensions}
        for trial in self._study.get_trials(deepcopy=False, states=(state.RUNNING,)):
            if trial.params.keys() == names:
                return OpenTrial(self._optuna.Trial(self._study, trial._trial_id), self._dimensions)
            # It was stopped before its values were complete.
            self._study.tell(trial.number, state=state.FAIL)
        return None

    def best_trials(self, count: int) -> list[Trial]:
        """The best completed trials, at most `count`, best first."""
        done = [trial for trial in self.trials() if trial.score is not None]
        return sorted(done, key=lambda trial: -(trial.score or 0.0))[:count]

    def importances(self) -> dict[str, float]:
        """The share of each setting in the variance of the scores, by fANOVA (Hutter et al. 2014).

        Empty if there are fewer than `MIN_TRIALS_FOR_IMPORTANCE` completed trials, only one setting, or only equal
        scores.
        """
        scores = [trial.score for trial in self.trials() if trial.state == "done"]
        if len(scores) < MIN_TRIALS_FOR_IMPORTANCE or len(self._dimensions) < 2 or len({*scores}) < 2:
            return {}
        evaluator = self._optuna.importance.FanovaImportanceEvaluator(seed=0)
        return dict(self._optuna.importance.get_param_importances(self._study, evaluator=evaluator))

    def _distributions(self) -> dict[str, Any]:
        kinds, distributions = self._optuna.distributions, {}
        for dimension in self._dimensions:
            if dimension.scale == "choices":
                distributions[dimension.name] = kinds.CategoricalDistribution(dimension.values)
            else:
                kind = kinds.IntDistribution if dimension.is_whole else kinds.FloatDistribution
                distributions[dimension.name] = kind(*dimension.values, log=dimension.scale == "logarithmic")
        return distributions


class Level(NamedTuple):
    """The trials with one value of a setting, or with values in one part of its range."""

    low: Any
    high: Any
    trials: int
    pruned: int
    mean: float | None
    best: float | None


def find_levels(dimension: Dimension, trials: Sequence[Trial]) -> list[Level]:
    """The levels of a setting with their trials, from the least value on."""
    if dimension.scale == "choices":
        ends = [(value, value) for value in sorted(dimension.values)]
    else:
        low, high = dimension.values
        borders = [low + (high - low) * part / _PARTS for part in range(1, _PARTS)]
        if dimension.scale == "logarithmic":
            borders = [low * math.exp(math.log(high / low) * part / _PARTS) for part in range(1, _PARTS)]
        inner = [dimension.round(round(border) if dimension.is_whole else border) for border in borders]
        ends = list(itertools.pairwise(dict.fromkeys([low, *inner, high])))
    # A value on the border of two parts belongs to the lower one.
    levels, remaining = [], list(trials)
    for low, high in ends:
        inside = [trial for trial in remaining if low <= trial.values[dimension.name] <= high]
        remaining = [trial for trial in remaining if trial not in inside]
        scores = [trial.score for trial in inside if trial.score is not None]
        mean, best = (statistics.fmean(scores), max(scores)) if scores else (None, None)
        levels.append(Level(low, high, len(scores), len(inside) - len(scores), mean, best))
    return levels


def check_optuna() -> None:
    """Raises InputError if Optuna is not installed."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise InputError(
            f"a search for settings needs Optuna, which is not installed: {install_command('search')}"
        ) from None


@contextlib.contextmanager
def storage_errors_as_input_errors(root: Path, folder: Path) -> Iterator[None]:
    """Turns errors of the storage in a folder that the user can correct into InputErrors: a full disk, a bad file."""
    import optuna
    import sqlalchemy

    try:
        yield
    except (optuna.exceptions.StorageInternalError, sqlalchemy.exc.DatabaseError) as error:
        if is_disk_full(error):
            raise full_disk_error(root, _one_line(error)) from error
        raise InputError(
            f"{folder / STUDIES_FILE} must be a file that can be read and written, got: {_one_line(error)}; move it "
            "away to start over"
        ) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
