"""The search behind `tune`: trials of the teacher, then of the student; the best of each run with more seeds."""

import contextlib
import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import SeedScores
from components.dsl.errors import InputError
from components.dsl.locks import lock_file
from components.training.model_folder import HISTORY_FILE
from keras_bert.core.digests import digest
from pipeline.chains import Stage, enabled_stages
from pipeline.job.files import Tables, make_settings
from pipeline.orchestrator.locks import read_holder, write_holder
from pipeline.orchestrator.observer import Observer, StoppedRunError
from pipeline.orchestrator.places import open_store
from pipeline.orchestrator.runner import RunFailedError
from pipeline.report.trainings import read_history
from pipeline.search.budget import SearchBudget, StageCosts, check_time, kept_seconds
from pipeline.search.results import Finalist, SettingsResult, SettingWorth, StageResult, Winner, search_folder
from pipeline.search.runs import SearchRuns
from pipeline.search.settings_tables import BASELINE, describe_count, describe_finalist, describe_values
from pipeline.search.space import POOLING, Dimension, SearchStage, apply_values, find_space
from pipeline.search.study import OpenTrial, Sampler, Study, Trial, find_levels, storage_errors_as_input_errors
from pipeline.search.trial import TrialObserver, validation_values
from pipeline.search.trial_steps import start_pipeline, teacher_pipeline, wire_trial
from pipeline.settings.schema import Settings

# For each stage of the search: the compression stages of its model, and the step that trains the model.
_STAGES: dict[SearchStage, tuple[Stage, ...]] = {"teacher": (), "student": ("student",)}
_TRAINING_STEPS: dict[SearchStage, str] = {"teacher": "fine_tune", "student": "distill"}
# The error of a training with too high a learning rate; importing its class would import TensorFlow.
_DIVERGED = "NonFiniteLossError"


def check_job(settings: Settings) -> None:
    """Raises InputError if a job has no [examples], or validates on its test rows."""
    source = settings.examples
    if source is None:
        raise InputError("there must be [examples] to tune settings for")
    validation, test = (getattr(source, split, None) for split in ("validation", "test"))
    if validation is not None and validation == test:
        raise InputError(f"examples.validation must not be the test rows, on which nothing may be chosen, got {test}")


class _Training(NamedTuple):
    """The result of a trial's run.

    Attributes:
        run: the number of the run.
        score: score of the trained model on validation rows.
        last_score: score of the model after the last stage on validation rows.
        validations: see `validation_values`.
        costs: costs of training and scoring the model, see `SearchRuns.costs`.
        later: seconds for the later stages and the last score.
    """

    run: int
    score: float
    last_score: float
    validations: list[float]
    costs: dict[str, float]
    later: float


class _Search(NamedTuple):
    """State that the stages of a search share.

    Attributes:
        tables: the tables of the job.
        settings: the settings that the tables define.
        space: the settings that are searched.
        budget: the limits.
        sampler: the sampler that proposes values.
        root: the root.
        folder: the folder of the search.
        runs: the runs of the search.
        observer: receives the progress.
    """

    tables: Tables
    settings: Settings
    space: Mapping[SearchStage, tuple[Dimension, ...]]
    budget: SearchBudget
    sampler: Sampler
    root: Path
    folder: Path
    runs: SearchRuns
    observer: Observer


class SettingsSearch:
    """A search for the settings of a job with the best score on validation rows.

    Args:
        tables: the tables of the job.
        names: the settings to search; empty for all that the job has.
        budget: the limits.
        sampler: the sampler that proposes values.
        root: the root.
        observer: receives the progress.

    Raises:
        InputError: see `find_space`.
    """

    def __init__(
        self,
        tables: Tables,
        names: Sequence[str],
        budget: SearchBudget,
        sampler: Sampler,
        root: Path,
        observer: Observer,
    ) -> None:
        # The search decides the number of seeds, not the job.
        settings = make_settings({**tables, "seeds": budget.seeds})
        self._search = _Search(
            tables=tables,
            settings=settings,
            space=find_space(tables, settings, names),
            budget=budget,
            sampler=sampler,
            root=root,
            folder=search_folder(root, settings.name, "" if sampler == "tpe" else sampler),
            runs=SearchRuns(settings, root, observer),
            observer=observer,
        )

    def run(self) -> SettingsResult:
        """Runs the search and returns what it found.

        Raises:
            InputError: the user's input cannot be used, the time is too short, or another process searches.
            RunFailedError: a step failed.
        """
        search, stages = self._search, dict[SearchStage, StageResult]()
        search.runs.exclude(search.runs.run(start_pipeline(search.settings)))
        if "teacher" not in search.space:
            for seed in range(search.budget.seeds):
                search.runs.exclude(search.runs.run(teacher_pipeline(search.settings, seed)))
        values: dict[str, Any] = {}
        with self._locked_folder(), storage_errors_as_input_errors(search.root, search.folder):
            for shares, stage in zip(range(len(search.space), 0, -1), search.space, strict=True):
                stages[stage] = self._run_stage(stage, values, shares)
                values |= stages[stage].winner.values
        last = stages[next(reversed(stages))]
        defaults = {one.name: one.default for dimensions in search.space.values() for one in dimensions}
        return SettingsResult(
            name=search.settings.name,
            sampler=search.sampler,
            minutes=search.budget.seconds / 60,
            seeds=search.budget.seeds,
            metric=last.metric,
            rows=last.rows,
            stages=stages,
            # A job without `pooling` must name the default that it was trained with.
            values={
                name: value
                for name, value in values.items()
                if value != defaults[name] or (name == POOLING and search.settings.pooling is None)
            },
            seconds=search.runs.spent,
        )

    @contextlib.contextmanager
    def _locked_folder(self) -> Iterator[None]:
        """Locks the folder against other searches of this job, which would count trials twice."""
        search = self._search
        search.folder.mkdir(parents=True, exist_ok=True)
        with (search.folder / "lock").open("a+") as lock:
            if not lock_file(lock):
                rule = f"must have no other search for {search.settings.name!r}"
                raise InputError(f"--root {rule}, got {search.root}: {read_holder(lock)} runs one")
            write_holder(lock, "search")
            yield

    def _run_stage(self, stage: SearchStage, values: Mapping[str, Any], shares: int) -> StageResult:
        """Searches the settings of one model; settings of the previous stage have their best values."""
        search = self._search
        spent = search.runs.spent
        seconds = (search.budget.seconds - spent) / shares
        stage_search = _StageSearch(search, stage, values, seconds, is_last=shares == 1)
        check_time(stage_search.costs, search.budget.seeds, seconds, spent, shares)
        stage_search.run_trials()
        return stage_search.repeat()


class _StageSearch:
    """The search of one stage.

    Args:
        search: the search.
        stage: the stage.
        values: the best values of the previous stage.
        seconds: the time of the stage.
        is_last: whether the finalists go through all later stages of the job.
    """

    def __init__(
        self, search: _Search, stage: SearchStage, values: Mapping[str, Any], seconds: float, *, is_last: bool
    ) -> None:
        self._search, self._stage, self._seconds, self._is_last = search, stage, seconds, is_last
        self._runs, self._observer, self._budget = search.runs, search.observer, search.budget
        self._dimensions: tuple[Dimension, ...] = search.space[stage]
        self._tables = apply_values(search.tables, values)
        self._start = self._runs.spent
        compressions = enabled_stages(search.settings)
        self._later = tuple(name for name in compressions if name not in _STAGES[stage]) if is_last else ()
        self._job_values = {one.name: one.default for one in self._dimensions}
        self._baseline = self._train(self._job_values, seed=0, later=self._later)
        self.costs = StageCosts(sum(self._baseline.costs.values()), self._baseline.later)
        self._study = Study(search.folder, self._identify(), self._dimensions, search.sampler)
        self._study.add_baseline(self._baseline.score, self._baseline.validations)
        for trial in self._study.trials():
            self._runs.count(trial.costs)

    def run_trials(self) -> None:
        """Runs trials until the time or the number of trials is used up."""
        while self._study.stopped_trial() is not None or self._has_time():
            trial = self._study.propose([self._job_values])
            if trial is None:
                self._observer.say(f"{self._stage}: hardly any values are left to try")
                return
            self._observer.say(f"{self._stage}, trial {trial.number}: {describe_values(trial.values)}")
            self._run_trial(trial)

    def repeat(self) -> StageResult:
        """Trains the best trials and the job's own settings with all seeds, and returns the result of the stage."""
        finalists: dict[str, Finalist] = {}
        best = self._best_trials()
        for name, values in [*((str(trial.number), trial.values) for trial in best[:1]), (BASELINE, self._job_values)]:
            self._repeat(name, values, finalists)
        for trial in best[1:]:
            if self.costs.repetition(trial.seconds, self._budget.seeds) <= self._left():
                self._repeat(str(trial.number), trial.values, finalists)
        # If means are equal, the job's own settings win, then the trial with the better score in the search.
        order = [BASELINE, *(name for name in finalists if name != BASELINE)]
        winner = max(order, key=lambda name: finalists[name].score.mean)
        if self._is_last:
            self._train(finalists[winner].values, seed=0, later=self._later, completes=True)
        trials, importances = self._study.trials(), self._study.importances()
        return StageResult(
            metric=self._metric,
            rows=self._rows,
            winner=Winner(winner, finalists[winner].values),
            later=list(self._later),
            finalists=finalists,
            job_score=self._baseline.score,
            trials=trials,
            settings={
                one.name: SettingWorth(
                    one.default, None if importances is None else importances[one.name], find_levels(one, trials)
                )
                for one in self._dimensions
            },
        )

    def _run_trial(self, trial: OpenTrial) -> None:
        start = time.monotonic()

        def prune_if_bad(validations: Sequence[float]) -> None:
            if trial.report(validations):
                raise StoppedRunError

        observer = TrialObserver(self._observer, _TRAINING_STEPS[self._stage], prune_if_bad)

        def stopped_costs() -> dict[str, float]:
            return {f"{self._stage}-{trial.number}": time.monotonic() - start}

        try:
            training = self._train(trial.values, seed=0, observer=observer)
        except StoppedRunError:
            costs = stopped_costs()
            trial.end("pruned", costs)
            self._observer.say(f"{self._stage}, trial {trial.number}: pruned, below the median of earlier trials")
        except (InputError, RunFailedError) as error:
            reason = self._rejection(error, observer.run)
            if reason is None:
                raise
            costs = stopped_costs()
            trial.end("rejected", costs, reason=reason)
            self._observer.say(f"{self._stage}, trial {trial.number}: {reason}")
        else:
            costs = training.costs
            trial.report(training.validations)
            trial.end("done", costs, training.score)
            self._observer.say(f"{self._stage}, trial {trial.number}: {self._metric} {100 * training.score:.2f}")
        self._runs.count(costs)

    def _rejection(self, error: InputError | RunFailedError, run: int | None) -> str | None:
        """Returns why training rejected its values: it diverged or refused them; None for another error."""
        if isinstance(error, RunFailedError):
            return f"{_DIVERGED}, the training diverged" if _DIVERGED in str(error) else None
        with contextlib.closing(open_store(self._search.root, create=False)) as store:
            executions = [] if run is None else store.executions(run)
        step = _TRAINING_STEPS[self._stage]
        refused = any((one.node, one.state, one.message) == (step, "failed", str(error)) for one in executions)
        return str(error) if refused else None

    def _has_time(self) -> bool:
        """Whether time is left for another trial."""
        trials = self._study.trials()
        if self._budget.trials is not None and len(trials) >= self._budget.trials:
            return False
        whole = [trial.seconds for trial in trials if trial.state == "done"]
        expected = statistics.fmean([self.costs.trial, *whole])
        finalists = [trial.seconds for trial in self._best_trials()]
        kept = kept_seconds(self.costs, finalists or [self.costs.trial], self._budget.seeds, self._seconds)
        return expected + kept <= self._left()

    def _left(self) -> float:
        return self._seconds - (self._runs.spent - self._start)

    def _best_trials(self) -> list[Trial]:
        """The finished trials with the best scores, best first."""
        done = [trial for trial in self._study.trials() if trial.score is not None]
        count = self._search.settings.tune.finalists
        return sorted(done, key=lambda trial: -(trial.score or 0.0))[:count]

    def _repeat(self, name: str, values: Mapping[str, Any], finalists: dict[str, Finalist]) -> None:
        """Trains values with all seeds and adds them to the finalists, unless training diverges with a seed."""
        self._observer.say(f"{self._stage}, {describe_finalist(name)}: {describe_count(self._budget.seeds, 'seed')}")
        scores = []
        for seed in range(self._budget.seeds):
            try:
                training = self._train(values, seed=seed, later=self._later)
            except RunFailedError as error:
                if name == BASELINE or _DIVERGED not in str(error):
                    raise
                self._observer.say(f"{self._stage}, {describe_finalist(name)}: diverged with seed {seed}")
                return
            scores.append(training.last_score)
        sd = statistics.stdev(scores) if len(scores) > 1 else None
        finalists[name] = Finalist(dict(values), SeedScores(statistics.fmean(scores), sd, scores))

    def _train(
        self,
        values: Mapping[str, Any],
        *,
        seed: int,
        later: Sequence[Stage] = (),
        observer: Observer | None = None,
        completes: bool = False,
    ) -> _Training:
        """Trains and scores values; the last run completes the search, for `gc`."""
        settings = make_settings(apply_values(self._tables, values))
        outputs = wire_trial(settings, seed, _STAGES[self._stage], later)
        result = self._runs.run(outputs.pipeline(settings), is_whole=completes, observer=observer)
        scored = result.artifact(outputs.validation).read()
        self._metric, self._rows = scored.metric, scored.rows
        return _Training(
            run=result.run,
            score=scored.score,
            last_score=result.artifact(outputs.last_validation).read().score,
            validations=validation_values(read_history(result.artifact(outputs.training).file(HISTORY_FILE))),
            costs=self._runs.costs(result, outputs.steps),
            later=sum(self._runs.costs(result, outputs.later_steps).values()),
        )

    def _identify(self) -> str:
        """The name of the study: the cache keys of the job's own training hold its data, code and settings."""
        with contextlib.closing(open_store(self._search.root, create=False)) as store:
            executions = store.executions(self._baseline.run)
        keys = sorted(execution.key for execution in executions)
        content = [keys, [one._asdict() for one in self._dimensions], self._search.sampler]
        return f"{self._stage}-{digest([json.dumps(content).encode()])}"
