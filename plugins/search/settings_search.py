"""The search for settings: trials of the teacher, then of the student, and the best few of each with several seeds."""

import contextlib
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import SeedScores
from components.dsl.errors import InputError
from components.training.model_folder import HISTORY_FILE
from keras_bert.core.digests import digest
from pipeline.capabilities import split_job
from pipeline.chains import Stage, enabled_stages
from pipeline.job.files import Tables, make_settings
from pipeline.orchestrator.observer import Observer, StoppedRunError
from pipeline.orchestrator.opening import open_store
from pipeline.orchestrator.records import Execution
from pipeline.orchestrator.runner import RunFailedError
from pipeline.report.trainings import read_history
from plugins.search.budget import SearchBudget, StageCosts, check_stage, kept_seconds
from plugins.search.capability import search_settings
from plugins.search.results import Finalist, SettingsResult, SettingWorth, StageResult, Winner
from plugins.search.runs import SearchRuns
from plugins.search.space import POOLING, Dimension, SearchStage, apply_values, find_space
from plugins.search.steps import search_pipeline, start_pipeline, wire_trial
from plugins.search.study import OpenTrial, Sampler, Study, find_levels, storage_errors_as_input_errors
from plugins.search.tables import BASELINE, describe_count, describe_finalist, describe_values
from plugins.search.trial import TrialObserver, validation_values

# For each stage of the search: the compression stages of its model.
_STAGES: dict[SearchStage, tuple[Stage, ...]] = {"teacher": (), "student": ("student",)}
# The error of a training with too high a learning rate; importing its class would import TensorFlow.
_DIVERGED = "NonFiniteLossError"


class SettingsSearch:
    """A search for the settings of a job with the best score on validation rows."""

    def __init__(
        self,
        tables: Tables,
        names: Sequence[str],
        budget: SearchBudget,
        sampler: Sampler,
        root: Path,
        observer: Observer,
    ) -> None:
        self.tables, self.budget, self.sampler, self.root, self.observer = tables, budget, sampler, root, observer
        # Each training needs as many seeds, whatever the job has.
        self.settings = make_settings({**tables, "seeds": budget.seeds})
        for name, job in split_job(self.settings).items():
            validation, test = (getattr(job.examples, split, None) for split in ("validation", "test"))
            if validation is not None and validation == test:
                table = f"tasks.{name}.examples" if name else "examples"
                raise InputError(
                    f"{table}.validation must not be the test rows, on which nothing may be chosen, got {test}"
                )
        self.finalists = search_settings(self.settings).finalists
        self.space = find_space(tables, self.settings, names)
        self.runs = SearchRuns(self.settings, root, "" if sampler == "tpe" else sampler, observer)

    def run(self) -> SettingsResult:
        """Runs the search and returns what it found."""
        settings, stages, values = self.settings, dict[SearchStage, StageResult](), dict[str, Any]()
        self.runs.exclude(start_pipeline(settings))
        for seed in range(0 if "teacher" in self.space else settings.seeds):
            teachers = wire_trial(settings, seed, _STAGES["student"]).teachers
            self.runs.exclude(search_pipeline(settings, teachers))
        with self.runs.locked(), storage_errors_as_input_errors(self.root, self.runs.folder):
            for shares, stage in zip(range(len(self.space), 0, -1), self.space, strict=True):
                stages[stage] = _StageSearch(self, stage, values, shares).run()
                values |= stages[stage].winner.values
        last = stages[next(reversed(stages))]
        defaults = {one.name: one.default for dimensions in self.space.values() for one in dimensions}
        return SettingsResult(
            name=settings.name,
            sampler=self.sampler,
            minutes=self.budget.seconds / 60,
            seeds=self.budget.seeds,
            metric=last.metric,
            rows=last.rows,
            stages=stages,
            # A job without a pooling was trained with the value that is named here.
            values={
                name: value
                for name, value in values.items()
                if value != defaults[name] or (name == POOLING and settings.pooling is None)
            },
            seconds=self.runs.spent,
        )


class _Training(NamedTuple):
    """The result of a trial's run."""

    run: int
    score: float
    last_score: float
    validations: list[float]
    costs: dict[str, float]
    later: float
    singles: float


class _StageSearch:
    """The search of the settings of one model; the other model has the values of the stage before.

    `shares` is the number of stages, this one among them, that share what is left of the time; the finalists of the
    last one go through all later stages of the job.
    """

    def __init__(self, search: SettingsSearch, stage: SearchStage, values: Mapping[str, Any], shares: int) -> None:
        self._search, self._stage, self._runs, self._seeds = search, stage, search.runs, search.budget.seeds
        self._say = search.observer.say
        self._start = self._runs.spent
        self._seconds = (search.budget.seconds - self._start) / shares
        self._is_last = shares == 1
        self._dimensions: tuple[Dimension, ...] = search.space[stage]
        self._tables = apply_values(search.tables, values)
        compressions = enabled_stages(search.settings)
        self._later = tuple(name for name in compressions if name not in _STAGES[stage]) if self._is_last else ()
        self._job_values = {one.name: one.default for one in self._dimensions}
        self._baseline = self._train(self._job_values, seed=0, later=self._later)
        self._costs = StageCosts(sum(self._baseline.costs.values()), self._baseline.later, self._baseline.singles)
        # The cache keys of the job's own training hold its data, code and settings.
        keys = sorted(execution.key for execution in self._executions(self._baseline.run))
        content = [keys, [one._asdict() for one in self._dimensions], search.sampler]
        name = f"{stage}-{digest([json.dumps(content).encode()])}"
        self._study = Study(self._runs.folder, name, self._dimensions, search.sampler)
        self._study.add_baseline(self._baseline.score, self._baseline.validations)
        for costs in self._study.costs():
            self._runs.count(costs)
        check_stage(self._costs, self._seeds, self._seconds, self._start, shares)

    def run(self) -> StageResult:
        """Runs trials until the time or their number is used up, then the best few with all seeds."""
        while self._study.stopped_trial() is not None or self._has_time():
            trial = self._study.propose([self._job_values])
            if trial is None:
                self._say(f"{self._stage}: hardly any values are left to try")
                break
            self._say(f"{self._stage}, trial {trial.number}: {describe_values(trial.values)}")
            self._run_trial(trial)
        finalists: dict[str, Finalist] = {}
        best = self._study.best_trials(self._search.finalists)
        for name, values in [*((str(one.number), one.values) for one in best[:1]), (BASELINE, self._job_values)]:
            self._repeat(name, values, finalists)
        for further in best[1:]:
            if self._costs.repetition(further.seconds, self._seeds) <= self._left():
                self._repeat(str(further.number), further.values, finalists)
        # Of equal means the job's own settings win, else the trial that was better in the search.
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
                one.name: SettingWorth(one.default, importances.get(one.name), find_levels(one, trials))
                for one in self._dimensions
            },
        )

    def _run_trial(self, trial: OpenTrial) -> None:
        start, costs = time.monotonic(), dict[str, float]()

        def prune_if_bad(validations: Sequence[float]) -> None:
            if trial.report(validations):
                raise StoppedRunError

        observer = TrialObserver(self._search.observer, self._training_step, prune_if_bad)
        try:
            training = self._train(trial.values, seed=0, observer=observer)
        except (StoppedRunError, InputError, RunFailedError) as error:
            costs[f"{self._stage}-{trial.number}"] = time.monotonic() - start
            if isinstance(error, StoppedRunError):
                trial.end("pruned", costs)
                self._say(f"{self._stage}, trial {trial.number}: pruned, below the median of earlier trials")
            else:
                # The training diverged, or refused the values; any other error ends the search.
                if isinstance(error, RunFailedError):
                    is_rejected, reason = _DIVERGED in str(error), f"{_DIVERGED}, the training diverged"
                else:
                    refusal, reason = (self._training_step, "failed", str(error)), str(error)
                    ran = [] if observer.run is None else self._executions(observer.run)
                    is_rejected = any((one.node, one.state, one.message) == refusal for one in ran)
                if not is_rejected:
                    raise
                trial.end("rejected", costs, reason=reason)
                self._say(f"{self._stage}, trial {trial.number}: {reason}")
        else:
            costs = training.costs
            trial.report(training.validations)
            trial.end("done", costs, training.score)
            self._say(f"{self._stage}, trial {trial.number}: {self._metric} {100 * training.score:.2f}")
        self._runs.count(costs)

    def _has_time(self) -> bool:
        """Whether another trial may begin."""
        trials, most = self._study.trials(), self._search.budget.trials
        if most is not None and len(trials) >= most:
            return False
        expected = statistics.fmean([self._costs.trial, *(one.seconds for one in trials if one.state == "done")])
        best = [trial.seconds for trial in self._study.best_trials(self._search.finalists)]
        kept = kept_seconds(self._costs, best or [self._costs.trial], self._seeds, self._seconds)
        return expected + kept <= self._left()

    def _left(self) -> float:
        return self._seconds - (self._runs.spent - self._start)

    def _repeat(self, name: str, values: Mapping[str, Any], finalists: dict[str, Finalist]) -> None:
        """Trains values with all seeds; values whose training diverges with one of them are no finalists."""
        finalist, scores = f"{self._stage}, {describe_finalist(name)}", []
        self._say(f"{finalist}: {describe_count(self._seeds, 'seed')}")
        for seed in range(self._seeds):
            try:
                scores.append(self._train(values, seed=seed, later=self._later).last_score)
            except RunFailedError as error:
                if name == BASELINE or _DIVERGED not in str(error):
                    raise
                self._say(f"{finalist}: diverged with seed {seed}")
                return
        finalists[name] = Finalist(dict(values), SeedScores.of(scores))

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
        pipeline = search_pipeline(settings, [outputs.validation, outputs.last_validation])
        result = self._runs.run(pipeline, settings, is_whole=completes, observer=observer)
        scored = result.artifact(outputs.validation).read()
        self._metric, self._rows, self._training_step = scored.metric, scored.rows, outputs.training.node.name
        return _Training(
            run=result.run,
            score=scored.score,
            last_score=result.artifact(outputs.last_validation).read().score,
            validations=validation_values(read_history(result.artifact(outputs.training).file(HISTORY_FILE))),
            costs=self._runs.costs(result, outputs.steps),
            later=sum(self._runs.costs(result, outputs.later_steps).values()),
            singles=sum(self._runs.costs(result, outputs.single_steps).values()),
        )

    def _executions(self, run: int) -> list[Execution]:
        with contextlib.closing(open_store(self._search.root, create=False)) as store:
            return store.executions(run)
