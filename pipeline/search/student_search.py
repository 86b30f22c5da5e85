"""The search for the best model within limits: measure candidates, train the fitting ones by successive halving."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from components.artifacts.evaluation import SeedScores
from components.artifacts.measurements import FileFootprint
from components.dsl.artifact import Artifact
from components.dsl.component import Handle
from components.objects.mirror import display_path
from components.training.on_rows import VALIDATIONS, training_work
from keras_bert.options.training import Training
from pipeline.nodes import seeded
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import RunFailedError, RunResult
from pipeline.pipelines import pipeline_of
from pipeline.search.candidates import Candidate, Grid
from pipeline.search.front import select_distant, select_maximal_fitting, select_uncontained
from pipeline.search.halving import (
    FACTOR,
    Costs,
    Round,
    affordable,
    check_time,
    keep_best,
    plan_count,
    rounds_of,
    seconds_of,
)
from pipeline.search.limits import Limits, unmet_limits, violated_limits
from pipeline.search.results import RoundResult, Rung, StudentResult
from pipeline.search.runs import SearchRuns
from pipeline.search.sizes import Footprint, count_operations, predict_all, reduce_footprint
from pipeline.search.student_steps import TEACHER, Wiring
from pipeline.settings.schema import QuantizationSettings, Settings

# Number of times that new measurements correct the prediction of fitting candidates.
_PASSES = 4


class StudentSearch:
    """A search for the best small model within limits.

    After an interruption a new search takes the same decisions, because they depend on artifacts alone.

    Args:
        settings: the settings of the job.
        limits: the limits.
        root: the root.
        observer: receives the progress.
    """

    def __init__(self, settings: Settings, limits: Limits, root: Path, observer: Observer) -> None:
        self._settings, self._limits, self._root, self._observer = settings, limits, root, observer
        self._wiring, self._length = Wiring(settings), settings.max_length
        self._runs = SearchRuns(settings, root, observer)
        self._measured: dict[Candidate, Footprint] = {}
        self._measuring_seconds: list[float] = []
        bounds = {**limits.bounds(), "share": limits.min_share, "minutes": limits.seconds / 60}
        self._result = StudentResult(settings.name, settings.seeds, [settings.max_length], bounds)

    @property
    def spent(self) -> float:
        """Seconds of the search so far, including earlier runs."""
        return self._runs.spent

    @property
    def left(self) -> float:
        """Remaining seconds of the search."""
        return self._limits.seconds - self.spent

    def run(self) -> StudentResult:
        """Runs the search and returns what it found.

        Raises:
            InputError: the user's input cannot be used, or the time is too short for one candidate.
            RunFailedError: a step failed.
        """
        self._runs.exclude(self._run(self._wiring.wire_teachers()))
        grid = self._measure_teacher()
        self._check_time(grid)
        self._measure([grid.ends(recipe)[0] for recipe in grid.recipes()], grid)
        smallest = {candidate._replace(vocabulary_size=grid.levels[4][-1]) for candidate in self._measured}
        footprints = {grid.name(candidate): self._footprint(candidate, grid)._asdict() for candidate in smallest}
        self._result.missed = unmet_limits(footprints, self._limits)
        if not self._result.missed:
            self._measure([grid.ends(recipe)[-1] for recipe in grid.recipes()], grid)
            costs = self._find_costs(self._largest(grid), grid)
            count = plan_count(costs, self.spent, self._limits.seconds)
            self._finish(self._halve(self._shortlist(count, grid), costs, grid), grid)
        self._result.seconds, rungs = self.spent, self._result.rungs
        self._result.rungs = {
            name: rung._replace(on_front=_on_front(rung, rungs.values())) for name, rung in rungs.items()
        }
        return self._result

    def _measure_teacher(self) -> Grid:
        outputs = self._wiring.measure_teacher()
        result = self._run(outputs)
        scored = result.artifact(outputs.validation).read()
        footprint = _footprint_of(result.artifact(outputs.latency).read(), self._length)
        self._scoring = result.step(outputs.validation.node.name).worked
        self._whole_score = scored.score
        self._result.metric, self._result.rows = scored.metric, scored.rows
        self._record(TEACHER, footprint, [scored.score], 1.0)
        return Grid.of(self._settings, result.artifact(outputs.search_space).read())

    def _measure(self, candidates: Sequence[Candidate], grid: Grid) -> None:
        """Measures candidates with the whole vocabulary, each once."""
        whole = dict.fromkeys(self._with_whole_vocabulary(candidate, grid) for candidate in candidates)
        new = [candidate for candidate in whole if candidate not in self._measured]
        if not new:
            return
        outputs = {candidate: self._wiring.measure_candidate(candidate, grid) for candidate in new}
        result = self._run(list(outputs.values()))
        for candidate, latency in outputs.items():
            self._measured[candidate] = _footprint_of(result.artifact(latency).read(), self._length)
            self._measuring_seconds.append(result.step(latency.node.name).worked)

    @staticmethod
    def _with_whole_vocabulary(candidate: Candidate, grid: Grid) -> Candidate:
        return candidate._replace(vocabulary_size=grid.levels[4][0])

    def _footprint(self, candidate: Candidate, grid: Grid) -> Footprint:
        """The measured footprint, reduced to the candidate's vocabulary."""
        measured = self._measured[self._with_whole_vocabulary(candidate, grid)]
        return reduce_footprint(measured, candidate, grid.levels[4][0])

    def _check_time(self, grid: Grid) -> None:
        """Raises InputError if the time is too short for the smallest candidate, before others are measured."""
        recipes = grid.recipes()
        smallest = grid.ends(recipes[0])[0]
        self._measure([smallest], grid)
        # Two candidates of every recipe are measured, of which this is the first, and the one that is trained.
        check_time(self._find_costs(smallest, grid), self.spent, self._limits.seconds, 2 * len(recipes))

    def _largest(self, grid: Grid) -> Candidate:
        """The slowest of the candidates that probably fit."""
        likely = select_maximal_fitting(grid, predict_all(grid, self._measured, self._length), self._limits)
        return max(likely, key=lambda candidate: count_operations(grid.config(candidate), self._length))

    def _find_costs(self, candidate: Candidate, grid: Grid) -> Costs:
        """The durations of the parts of the search with a candidate; smaller ones take less."""
        handle = self._wiring.time_training(candidate, grid)
        result = self._run([handle])
        times, settings = result.artifact(handle).read(), self._settings
        measuring, seconds = statistics.fmean(self._measuring_seconds), times.step
        begin = max(0.0, result.step(handle.node.name).worked - seconds * times.steps)

        def steps(training: Training) -> float:
            return training_work(times.rows, training, VALIDATIONS)

        training = seconds * steps(seeded(settings.distillation, 0))
        quantization = settings.quantization or QuantizationSettings()
        finishing = measuring + self._scoring
        trained = finishing if quantization.post_training else begin + seconds * steps(seeded(quantization, 0))
        # Two or three kinds of files, each compared with the model, timed, and scored on test rows.
        files = 4 * measuring + 6 * self._scoring
        last = settings.seeds * (trained + files) + (settings.seeds - 1) * (begin + training)
        return Costs(measuring, begin, training, finishing, last)

    def _shortlist(self, count: int, grid: Grid) -> list[Candidate]:
        """Selects `count` measured candidates that fit, of which none contains another one."""
        for _ in range(_PASSES):
            likely = select_maximal_fitting(grid, predict_all(grid, self._measured, self._length), self._limits)
            measured = [candidate for candidate in likely if self._is_measured(candidate, grid)]
            unmeasured = [candidate for candidate in likely if candidate not in measured]
            new = select_distant(unmeasured, count - len(measured), measured)
            if not new:
                break
            self._measure(new, grid)
        measured = [candidate for candidate in grid.members if self._is_measured(candidate, grid)]
        fitting = [one for one in measured if self._limits.allow(self._footprint(one, grid)._asdict())]
        return select_distant(select_uncontained(fitting), count)

    def _is_measured(self, candidate: Candidate, grid: Grid) -> bool:
        return self._with_whole_vocabulary(candidate, grid) in self._measured

    def _halve(self, candidates: list[Candidate], costs: Costs, grid: Grid) -> Candidate:
        """Runs the rounds of successive halving and returns the last candidate."""
        planned = rounds_of(len(candidates))
        self._announce_plan(planned, costs)
        for number, current in enumerate(planned, start=1):
            count = affordable(min(current.candidates, len(candidates)), number - 1, planned, costs, self.left)
            if count == 1:
                break
            scores, costs = self._run_round(candidates[:count], current.share, number, costs, grid)
            candidates = keep_best(scores, math.ceil(count / FACTOR))
        return candidates[0]

    def _run_round(
        self, candidates: Sequence[Candidate], share: float, number: int, costs: Costs, grid: Grid
    ) -> tuple[dict[Candidate, float], Costs]:
        """Runs a round, which ends early if time runs out; returns the scores and the corrected costs."""
        scores: dict[Candidate, float] = {}
        spent_before, corrected = self.spent, costs
        for candidate in candidates:
            if scores and corrected.trial(share) + corrected.winner() > self.left:
                self._observer.say(f"round {number} ends after {len(scores)} of {len(candidates)}: time is short")
                break
            scores[candidate] = self._try(candidate, share, number, grid)
            # Trials cheaper than planned may have been cached, so that costs are only corrected upwards.
            ratio = (self.spent - spent_before) / (len(scores) * costs.trial(share))
            corrected = costs.times(max(1.0, ratio))
        by_name = {grid.name(candidate): score for candidate, score in scores.items()}
        self._result.rounds.append(RoundResult(share, by_name))
        return scores, corrected

    def _try(self, candidate: Candidate, share: float, number: int, grid: Grid) -> float:
        name = grid.name(candidate)
        validation = self._wiring.try_candidate(candidate, grid, share, str(number))
        score = self._run([validation]).artifact(validation).read().score
        self._record(name, self._footprint(candidate, grid), [score], share)
        return score

    def _finish(self, winner: Candidate, grid: Grid) -> None:
        """Trains the winner as the job does, and pushes it if it meets the limits."""
        name, outputs = grid.name(winner), self._wiring.train_winner(winner, grid)
        result = self._run([handle for seed in outputs for handle in seed], is_whole=True)
        scores = [result.artifact(seed.validation).read().score for seed in outputs]
        timed = _footprint_of(result.artifact(outputs[0].latency).read(), self._length)
        # The lower of two measurements of the same graph, because disturbances only add time.
        earlier = self._footprint(winner, grid).milliseconds
        footprint = timed._replace(milliseconds=min(timed.milliseconds, earlier))
        self._record(name, footprint, scores, 1.0)
        record = {**footprint._asdict(), "share": self._result.rungs[name].share}
        self._result.winner, self._result.missed = name, violated_limits(name, record, self._limits)
        self._result.tables = self._wiring.tables(winner, grid)
        if self._result.missed:
            return
        push = self._wiring.push_winner(winner, grid, self._root, self._limits.megabytes)
        result = self._runs.start(pipeline_of(self._settings.name, [push.pushed]))
        if result.state == "failed":
            raise RunFailedError(result.message)
        self._result.refused = result.message
        self._result.test = result.artifact(push.evaluation).read().as_json()
        if result.state == "done":
            self._result.pushed = display_path(result.artifact(push.pushed).location())

    def _record(self, name: str, footprint: Footprint, scores: Sequence[float], trained: float) -> None:
        mean = statistics.fmean(scores)
        score = SeedScores(mean, statistics.stdev(scores) if len(scores) > 1 else None, [*scores])
        share = mean / self._whole_score if self._whole_score else 0.0
        milliseconds = {str(self._length): footprint.milliseconds}
        self._result.rungs[name] = Rung(footprint.megabytes, milliseconds, score, share, trained)

    def _announce_plan(self, planned: Sequence[Round], costs: Costs) -> None:
        count = planned[0].candidates if planned else 1
        expected = self.spent + seconds_of(count, costs)
        self._result.planned, self._result.expected = tuple(planned), expected
        rounds = ", ".join(f"{one.candidates} for {100 * one.share:.0f} % of the training" for one in planned)
        minutes = f"about {expected / 60:.1f} of {self._limits.seconds / 60:g} minutes"
        self._observer.say(f"plan: {rounds + ', then ' if rounds else ''}one for all of it; {minutes}")

    def _run(self, handles: Sequence[Handle[Artifact]], *, is_whole: bool = False) -> RunResult:
        return self._runs.run(self._wiring.pipeline(handles), is_whole=is_whole)


def _on_front(rung: Rung, rungs: Iterable[Rung]) -> bool:
    """Whether no other rung is at least as small, fast and good, and better in one of these (Pareto front)."""
    measures = rung.measures()
    return not any(
        other != measures and all(theirs <= ours for theirs, ours in zip(other, measures, strict=True))
        for other in (rung.measures() for rung in rungs)
    )


def _footprint_of(files: Mapping[str, FileFootprint], length: int) -> Footprint:
    """The footprint of the first file: the quantized one, if there is one."""
    figures = next(iter(files.values()))
    return Footprint(figures.bytes / 1e6, figures.milliseconds[str(length)])
