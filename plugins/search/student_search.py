"""The search for the best model within limits: measure candidates, train the fitting ones by successive halving."""

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.artifacts.evaluation import SeedScores
from components.artifacts.measurements import FileFootprint
from components.dsl.artifact import Artifact
from components.dsl.component import Handle
from components.objects.mirror import display_path
from components.training.progress import VALIDATIONS, forward_work
from keras_bert.options.tables import QuantizationSettings
from keras_bert.options.training import Training
from pipeline.nodes import seeded
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import RunFailedError, RunResult
from pipeline.pipelines import pipeline_of
from pipeline.settings.schema import Settings
from pipeline.views.pareto_plot import front_of
from plugins.search.budget import SearchBudget
from plugins.search.candidates import Candidate, Grid
from plugins.search.front import select_distant, select_maximal_fitting, select_uncontained
from plugins.search.halving import (
    FACTOR,
    Costs,
    affordable,
    check_one_candidate,
    keep_best,
    plan_count,
    rounds_of,
    seconds_of,
)
from plugins.search.limits import Limits, unmet_limits, violated_limits
from plugins.search.measure_footprint import TABLE_ENTRY
from plugins.search.results import RoundResult, Rung, StudentResult
from plugins.search.runs import SearchRuns
from plugins.search.sizes import Footprint, count_operations, predict_all, reduce_footprint
from plugins.search.steps import search_pipeline
from plugins.search.student_steps import TEACHER, wire_students

# Number of times that new measurements correct the prediction of fitting candidates.
_PASSES = 4
# Room for the records of a task that a pushed file holds beside the model, compressed: its scores are not known yet.
_RECORD_BYTES = 4000


class StudentSearch:
    """A search for the best small model within limits.

    After an interruption a new search takes the same decisions, because they only depend on artifacts.
    """

    def __init__(
        self, settings: Settings, limits: Limits, budget: SearchBudget, root: Path, observer: Observer
    ) -> None:
        self.settings, self._limits, self._budget, self._root, self._say = settings, limits, budget, root, observer.say
        self._wiring = wire_students(settings)
        self._length = self._wiring.max_length
        self.runs = SearchRuns(settings, root, "student", observer)
        self._measured: dict[Candidate, Footprint] = {}
        self._measuring_seconds: list[float] = []
        self._result = StudentResult(
            name=settings.name,
            seeds=settings.seeds,
            minutes=budget.seconds / 60,
            lengths=[self._length],
            limits={**limits.bounds(), "share": limits.min_share},
        )

    @property
    def left(self) -> float:
        """Remaining seconds of the search."""
        return self._budget.seconds - self.runs.spent

    def run(self) -> StudentResult:
        """Runs the search and returns what it found."""
        # The first run makes the root, in which the folder of the search may lie then.
        self.runs.exclude(search_pipeline(self.settings, self._wiring.wire_teachers()))
        with self.runs.locked():
            space, outputs = self._wiring.measure_teacher()
            result = self._run([space, *outputs])
            scored = result.artifact(outputs.validation).read()
            footprint = self._footprint_of(result.artifact(outputs.latency).read())
            self._scoring = result.step(outputs.validation.node.name).worked
            self._whole_score = scored.score
            self._result.metric, self._result.rows = scored.metric, scored.rows
            self._record(TEACHER, footprint, [scored.score], 1.0)
            self._search(Grid.of(self.settings, result.artifact(space).read()))
        self._result.seconds, rungs = self.runs.spent, self._result.rungs
        front = front_of(
            {
                name: (one.megabytes, one.download_megabytes, *one.milliseconds.values(), -one.score.mean)
                for name, one in rungs.items()
            }
        )
        self._result.rungs = {name: rung._replace(on_front=name in front) for name, rung in rungs.items()}
        return self._result

    def _search(self, grid: Grid) -> None:
        recipes = grid.recipes()
        # The smallest candidate shows whether the time is too short, before others are measured.
        smallest = grid.ends(recipes[0])[0]
        self._measure([smallest], grid)
        # Two candidates of every recipe are measured, of which this is the first, and the one that is trained.
        costs = self._find_costs(smallest, grid)
        check_one_candidate(costs, self.runs.spent, self._budget.seconds, 2 * len(recipes))
        self._measure([grid.ends(recipe)[0] for recipe in recipes], grid)
        least = {candidate._replace(vocabulary_size=grid.levels[4][-1]) for candidate in self._measured}
        footprints = {grid.name(candidate): self._footprint(candidate, grid)._asdict() for candidate in least}
        self._result.missed = unmet_limits(footprints, self._limits)
        if self._result.missed:
            return
        self._measure([grid.ends(recipe)[-1] for recipe in recipes], grid)
        # The slowest of the candidates that probably fit.
        largest = max(
            self._find_likely(grid), key=lambda candidate: count_operations(grid.config(candidate), self._length)
        )
        costs = self._find_costs(largest, grid)
        count = plan_count(costs, self.runs.spent, self._budget.seconds)
        for _ in range(_PASSES):
            likely = self._find_likely(grid)
            measured = [one for one in likely if _with_whole_vocabulary(one, grid) in self._measured]
            unmeasured = [candidate for candidate in likely if candidate not in measured]
            new = select_distant(unmeasured, count - len(measured), measured)
            if not new:
                break
            self._measure(new, grid)
        measured = [one for one in grid.members if _with_whole_vocabulary(one, grid) in self._measured]
        fitting = [one for one in measured if self._limits.allow(self._footprint(one, grid)._asdict())]
        self._finish(self._halve(select_distant(select_uncontained(fitting), count), costs, grid), grid)

    def _measure(self, candidates: Sequence[Candidate], grid: Grid) -> None:
        """Measures candidates with the whole vocabulary, each once."""
        whole = dict.fromkeys(_with_whole_vocabulary(candidate, grid) for candidate in candidates)
        outputs = {
            candidate: self._wiring.measure_candidate(candidate, grid)
            for candidate in whole
            if candidate not in self._measured
        }
        if not outputs:
            return
        result = self._run(list(outputs.values()))
        for candidate, latency in outputs.items():
            self._measured[candidate] = self._footprint_of(result.artifact(latency).read())
            self._measuring_seconds.append(result.step(latency.node.name).worked)

    def _footprint(self, candidate: Candidate, grid: Grid) -> Footprint:
        """The measured footprint, reduced to the candidate's vocabulary."""
        measured = self._measured[_with_whole_vocabulary(candidate, grid)]
        return reduce_footprint(measured, candidate, grid.whole_vocabulary)

    def _find_likely(self, grid: Grid) -> list[Candidate]:
        """The largest candidates that probably fit."""
        return select_maximal_fitting(grid, predict_all(grid, self._measured, self._length), self._limits)

    def _find_costs(self, candidate: Candidate, grid: Grid) -> Costs:
        """The durations of the parts of the search with a candidate; smaller ones take less."""
        handle = self._wiring.time_training(candidate, grid)
        result = self._run([handle])
        times, settings = result.artifact(handle).read(), self.settings
        measuring, seconds = statistics.fmean(self._measuring_seconds), times.step
        begin = max(0.0, result.step(handle.node.name).worked - seconds * times.steps)

        def steps(training: Training) -> float:
            validation = forward_work(times.rows["validation"], training)
            return training.count_steps(times.rows["train"]) + VALIDATIONS * validation

        training = seconds * steps(seeded(settings.distillation, 0))
        quantization = settings.quantization or QuantizationSettings()
        finishing = measuring + self._scoring
        trained = finishing if quantization.post_training else begin + seconds * steps(seeded(quantization, 0))
        # Two or three kinds of files, each compared with the model, timed, and scored on test rows.
        files = 4 * measuring + 6 * self._scoring
        last = settings.seeds * (trained + files) + (settings.seeds - 1) * (begin + training)
        return Costs(measuring, begin, training, finishing, last)

    def _halve(self, candidates: list[Candidate], costs: Costs, grid: Grid) -> Candidate:
        """Runs the rounds of successive halving and returns the last candidate."""
        planned, minutes = rounds_of(len(candidates)), self._budget.seconds / 60
        expected = self.runs.spent + seconds_of(len(candidates), costs)
        self._result.planned, self._result.expected = planned, expected
        rounds = "".join(f"{one.candidates} for {100 * one.share:.0f} % of the training, " for one in planned)
        then = "then " if rounds else ""
        self._say(f"plan: {rounds}{then}one for all of it; about {expected / 60:.1f} of {minutes:g} minutes")
        for number, (most, share) in enumerate(planned, start=1):
            count = affordable(min(most, len(candidates)), number - 1, planned, costs, self.left)
            if count == 1:
                break
            scores: dict[Candidate, float] = {}
            spent_before, corrected = self.runs.spent, costs
            for candidate in candidates[:count]:
                if scores and corrected.trial(share) + corrected.winner() > self.left:
                    self._say(f"round {number} ends after {len(scores)} of {count}: time is short")
                    break
                validation = self._wiring.try_candidate(candidate, grid, share, number)
                result = self._run([validation], grid.settings_of(candidate, share))
                scores[candidate] = result.artifact(validation).read().score
                self._record(grid.name(candidate), self._footprint(candidate, grid), [scores[candidate]], share)
                # Trials cheaper than planned may have been cached, so that costs are only corrected upwards.
                ratio = (self.runs.spent - spent_before) / (len(scores) * costs.trial(share))
                corrected = costs.times(max(1.0, ratio))
            self._result.rounds.append(RoundResult(share, {grid.name(one): score for one, score in scores.items()}))
            costs, candidates = corrected, keep_best(scores, math.ceil(count / FACTOR))
        return candidates[0]

    def _finish(self, winner: Candidate, grid: Grid) -> None:
        """Trains the winner as the job does, and pushes it if it meets the limits."""
        name, outputs = grid.name(winner), self._wiring.train_winner(winner, grid)
        settings = grid.settings_of(winner)
        result = self._run([handle for seed in outputs for handle in seed], settings, is_whole=True)
        scores = [result.artifact(seed.validation).read().score for seed in outputs]
        timed = self._footprint_of(result.artifact(outputs[0].latency).read())
        # The lower of two measurements of the same graph, because disturbances only add time.
        footprint = timed._replace(milliseconds=min(timed.milliseconds, self._footprint(winner, grid).milliseconds))
        self._record(name, footprint, scores, 1.0)
        record = {**footprint._asdict(), "share": self._result.rungs[name].share}
        self._result.winner, self._result.missed = name, violated_limits(name, record, self._limits)
        self._result.tables = grid.tables(winner)
        if self._result.missed:
            return
        push = self._wiring.push_winner(winner, grid, self._root, self._limits)
        result = self.runs.start(pipeline_of(self.settings.name, [push.pushed]), settings)
        if result.state == "failed":
            raise RunFailedError(result.message)
        self._result.refused = result.message
        tests = {name: result.artifact(handle).read().as_json() for name, handle in push.evaluations.items()}
        self._result.test = tests.get("", {"tasks": tests})
        if result.state == "done":
            self._result.pushed = display_path(result.artifact(push.pushed).location())

    def _record(self, name: str, footprint: Footprint, scores: Sequence[float], trained: float) -> None:
        score, milliseconds = SeedScores.of(scores), {str(self._length): footprint.milliseconds}
        share = score.mean / self._whole_score if self._whole_score else 0.0
        self._result.rungs[name] = Rung(*footprint[:2], milliseconds, score, share, trained)

    def _footprint_of(self, files: Mapping[str, FileFootprint]) -> Footprint:
        """The footprint of the first file, the quantized one if there is one, with room for its records."""
        figures, table = next(iter(files.values())), files.get(TABLE_ENTRY)
        room = _RECORD_BYTES * len(self._wiring.tasks)
        megabytes, download = ((size + room) / 1e6 for size in (figures.bytes, figures.download_bytes))
        share = 1.0 if table is None else table.download_bytes / table.bytes
        return Footprint(megabytes, download, figures.milliseconds[str(self._length)], share)

    def _run(
        self, handles: Sequence[Handle[Artifact]], settings: Settings | None = None, *, is_whole: bool = False
    ) -> RunResult:
        return self.runs.run(search_pipeline(self.settings, handles), settings, is_whole=is_whole)


def _with_whole_vocabulary(candidate: Candidate, grid: Grid) -> Candidate:
    return candidate._replace(vocabulary_size=grid.whole_vocabulary)
