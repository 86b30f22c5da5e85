"""The search: weigh, drop what cannot fit, train what can a little, the best of it longer, and push the last."""

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts.latency import LATENCY_FILE
from components.artifacts.survey import SURVEY_FILE
from components.artifacts.training_cost import TRAINING_COST_FILE
from components.artifacts.validation import VALIDATION_FILE
from components.dsl.artifact import Artifact
from components.dsl.component import Node
from components.training.on_rows import VALIDATIONS
from components.training.progress import training_work
from keras_bert.options.training import Training
from pipeline.chains import seeded
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import BrokenError, RunResult, run_pipeline
from pipeline.settings.schema import QuantizationSettings, Settings
from pipeline.shrink.candidates import Candidate, Grid
from pipeline.shrink.front import containers, spread, widest
from pipeline.shrink.limits import Limits
from pipeline.shrink.misses import Record, tell, unkept, unmet
from pipeline.shrink.plan import FACTOR, Costs, Round, affordable, keep_best, plan_count, rounds_of, seconds_of
from pipeline.shrink.sizes import Weight, count_operations, predict_all, with_pieces
from pipeline.shrink.steps import TEACHER, Wiring

# How often what was measured corrects what is likely to fit.
_PASSES = 4


class Search:
    """One search; asked again after an interruption it goes the same way, as all that it decides by are artifacts.

    Args:
        settings: of the job.
        limits: to keep to.
        root: of artifacts.
        observer: is told.
    """

    def __init__(self, settings: Settings, limits: Limits, root: Path, observer: Observer) -> None:
        self._settings, self._limits, self._root, self._observer = settings, limits, root, observer
        self._wiring, self._length = Wiring(settings), settings.max_length
        self._shared: set[str] = set()
        self._spent: dict[Path, float] = {}
        self._weighed: dict[Candidate, Weight] = {}
        self._weighings: list[float] = []
        self.content: dict[str, Any] = {
            "name": settings.name,
            "seeds": settings.seeds,
            "lengths": [settings.max_length],
            "limits": {**limits.bounds(), "share": limits.min_share, "minutes": limits.seconds / 60},
            "rungs": {},
            "rounds": [],
            "missed": [],
            "refused": "",
            "pushed": "",
        }

    @property
    def spent(self) -> float:
        """Seconds of the search so far, of earlier runs, too."""
        return sum(self._spent.values())

    @property
    def left(self) -> float:
        """Seconds that the search may still take."""
        return self._limits.seconds - self.spent

    def run(self) -> dict[str, Any]:
        """All of it; gives the content of `shrink.json`.

        Raises:
            InputError: some input cannot be used, or the time is too short for one candidate.
            BrokenError: a step broke.
        """
        self._shared = {step.name for step in self._run(self._wiring.preparing()).steps}
        self._spent = {}
        grid = self._survey()
        self._weigh([grid.ends(recipe)[0] for recipe in grid.recipes()], grid)
        least = grid.levels[4][-1]
        smallest = {each._replace(pieces=least): each for each in self._weighed}
        weights = {grid.name(each): self._weight(each, grid)._asdict() for each in smallest}
        self.content["missed"] = unmet(weights, self._limits)
        if not self.content["missed"]:
            self._weigh([grid.ends(recipe)[-1] for recipe in grid.recipes()], grid)
            costs = self._find_costs(grid)
            count = plan_count(costs, self.spent, self._limits.seconds)
            self._finish(self._halve(self._shortlist(count, grid), costs, grid), grid)
        self.content["seconds"] = self.spent
        for record in self.content["rungs"].values():
            record["on_front"] = _on_front(record, self.content["rungs"].values())
        return self.content

    def _survey(self) -> Grid:
        result = self._run(self._wiring.surveying())
        survey = _read(result.step("survey").outputs["survey"], SURVEY_FILE)
        scored = _read(result.step(f"validate-{TEACHER}").outputs["validation"], VALIDATION_FILE)
        weight = _weight_of(result.step(f"weigh-{TEACHER}").outputs["latency"], self._length)
        self._scoring = result.step(f"validate-{TEACHER}").worked
        self._whole_score = scored["score"]
        self.content |= {"metric": scored["metric"], "rows": scored["rows"]}
        self._record(TEACHER, weight, [scored["score"]], 1.0)
        return Grid.of(self._settings, survey)

    def _weigh(self, candidates: Sequence[Candidate], grid: Grid) -> None:
        """Measures candidates with the whole vocabulary, each once."""
        whole = {each._replace(pieces=grid.levels[4][0]): None for each in candidates}
        new = [each for each in whole if each not in self._weighed]
        if not new:
            return
        result = self._run([self._wiring.weighing(each, grid) for each in new])
        for each in new:
            step = result.step(f"weigh-{grid.name(each)}")
            self._weighed[each] = _weight_of(step.outputs["latency"], self._length)
            self._weighings.append(step.worked)

    def _weight(self, candidate: Candidate, grid: Grid) -> Weight:
        """What was measured, with the candidate's pieces."""
        whole = grid.levels[4][0]
        return with_pieces(self._weighed[candidate._replace(pieces=whole)], candidate, whole)

    def _find_costs(self, grid: Grid) -> Costs:
        """Those of the candidate that takes longest; the others take less."""
        likely = widest(grid, predict_all(grid, self._weighed, self._length), self._limits)
        largest = max(likely, key=lambda each: count_operations(grid.config(each), self._length))
        step = self._run([self._wiring.timing(largest, grid)]).step("measure_distillation")
        cost = _read(step.outputs["cost"], TRAINING_COST_FILE)
        weighing, seconds, own = statistics.fmean(self._weighings), cost["step"], self._settings
        begin = max(0.0, step.worked - seconds * cost["steps"])

        def steps(training: Training) -> float:
            return training_work(cost["rows"], training, VALIDATIONS)

        training = seconds * steps(seeded(own.distillation, 0))
        rounding = own.quantization or QuantizationSettings()
        finishing = weighing + self._scoring
        trained = finishing if rounding.post_training else begin + seconds * steps(seeded(rounding, 0))
        # Files of two or three kinds, each compared with the model, timed, and asked about test rows.
        files = 4 * weighing + 6 * self._scoring
        last = own.seeds * (trained + files) + (own.seeds - 1) * (begin + training)
        return Costs(weighing, begin, training, finishing, last)

    def _shortlist(self, count: int, grid: Grid) -> list[Candidate]:
        """So many measured candidates that fit, none of which is contained in another one."""
        for _ in range(_PASSES):
            likely = widest(grid, predict_all(grid, self._weighed, self._length), self._limits)
            good = [each for each in likely if self._is_weighed(each, grid)]
            new = spread([each for each in likely if each not in good], count - len(good), good)
            if not new:
                break
            self._weigh(new, grid)
        fit = [each for each in grid.members if self._is_weighed(each, grid)]
        fit = [each for each in fit if self._limits.allow(self._weight(each, grid)._asdict())]
        return spread(containers(fit), count)

    def _is_weighed(self, candidate: Candidate, grid: Grid) -> bool:
        return candidate._replace(pieces=grid.levels[4][0]) in self._weighed

    def _halve(self, candidates: list[Candidate], costs: Costs, grid: Grid) -> Candidate:
        """The rounds; gives the last candidate."""
        planned = rounds_of(len(candidates))
        self._tell_plan(planned, costs)
        for number, each in enumerate(planned, start=1):
            count = affordable(min(each.candidates, len(candidates)), number - 1, planned, costs, self.left)
            if count == 1:
                break
            scores, costs = self._play(candidates[:count], each.share, number, costs, grid)
            candidates = keep_best(scores, math.ceil(count / FACTOR))
        return candidates[0]

    def _play(
        self, candidates: Sequence[Candidate], share: float, number: int, costs: Costs, grid: Grid
    ) -> tuple[dict[Candidate, float], Costs]:
        """One round, which ends early if time runs out: the scores, and the costs as they turned out."""
        scores: dict[Candidate, float] = {}
        before, turned_out = self.spent, costs
        for each in candidates:
            if scores and turned_out.trial(share) + turned_out.winner() > self.left:
                self._observer.say(f"round {number} ends after {len(scores)} of {len(candidates)}: time is short")
                break
            scores[each] = self._try(each, share, number, grid)
            # What was cheaper than planned may have been found done; what was dearer stays so.
            ratio = (self.spent - before) / (len(scores) * costs.trial(share))
            turned_out = costs.times(max(1.0, ratio))
        told = {grid.name(each): score for each, score in scores.items()}
        self.content["rounds"].append({"share": share, "scores": told})
        return scores, turned_out

    def _try(self, candidate: Candidate, share: float, number: int, grid: Grid) -> float:
        name = grid.name(candidate)
        result = self._run([self._wiring.trying(candidate, grid, share, str(number))])
        found = _read(result.step(f"validate-{name}-{number}").outputs["validation"], VALIDATION_FILE)
        score: float = found["score"]
        self._record(name, self._weight(candidate, grid), [score], share)
        return score

    def _finish(self, winner: Candidate, grid: Grid) -> None:
        """The winner's own training; what keeps to the limits is pushed."""
        name, seeds = grid.name(winner), self._settings.seeds
        result = self._run(self._wiring.winning(winner, grid))
        ends = [""] if seeds == 1 else [f"-{seed}" for seed in range(seeds)]
        found = [_read(result.step(f"validate{end}").outputs["validation"], VALIDATION_FILE) for end in ends]
        timed = _weight_of(result.step(f"measure_latency{ends[0]}").outputs["latency"], self._length)
        # Of two times of one graph the lower one: whatever disturbs a clock only adds to it.
        before = self._weight(winner, grid).milliseconds
        weight = timed._replace(milliseconds=min(timed.milliseconds, before))
        self._record(name, weight, [each["score"] for each in found], 1.0)
        record = {**weight._asdict(), "share": self.content["rungs"][name]["share"]}
        self.content |= {"winner": name, "missed": unkept(name, record, self._limits)}
        self.content["tables"] = self._wiring.tables(winner, grid)
        if self.content["missed"]:
            return
        result = self._run_pipeline(self._wiring.pushing(winner, grid, self._root))
        self._note(result)
        if result.state == "failed":
            raise BrokenError(result.message)
        self.content["refused"] = result.message
        self.content["test"] = _read(result.step("evaluate").outputs["evaluation"], "metrics.json")
        if result.state == "done":
            self.content["pushed"] = _read(result.step("push").outputs["pushed"], "pushed.json")["path"]

    def _record(self, name: str, weight: Weight, scores: Sequence[float], trained: float) -> None:
        mean = statistics.fmean(scores)
        self.content["rungs"][name] = {
            "megabytes": weight.megabytes,
            "milliseconds": {str(self._length): weight.milliseconds},
            "score": {
                "mean": mean,
                "sd": statistics.stdev(scores) if len(scores) > 1 else None,
                "seeds": [*scores],
            },
            "share": mean / self._whole_score if self._whole_score else 0.0,
            "trained": trained,
        }

    def _tell_plan(self, planned: Sequence[Round], costs: Costs) -> None:
        count = planned[0].candidates if planned else 1
        expected = self.spent + seconds_of(count, costs)
        self.content |= {"planned": [each._asdict() for each in planned], "expected": expected}
        rounds = ", ".join(f"{each.candidates} for {100 * each.share:.0f} % of the training" for each in planned)
        minutes = f"about {expected / 60:.1f} of {self._limits.seconds / 60:g} minutes"
        self._observer.say(f"plan: {rounds + ', then ' if rounds else ''}one for all of it; {minutes}")

    def _run_pipeline(self, pipeline: Pipeline) -> RunResult:
        return run_pipeline(pipeline, self._root, observer=self._observer, **self._settings.run_options())

    def _run(self, nodes: Sequence[Node]) -> RunResult:
        result = self._run_pipeline(self._wiring.pipeline(nodes))
        if result.state != "done":
            raise BrokenError(result.message)
        self._note(result)
        return result

    def _note(self, result: RunResult) -> None:
        """Adds what steps took, each once, however often it is found done."""
        for step in result.steps:
            if step.name not in self._shared and step.outputs:
                self._spent[next(iter(step.outputs.values())).path] = step.worked


def shrink(settings: Settings, limits: Limits, root: Path, observer: Observer) -> dict[str, Any]:
    """See `Search.run`."""
    return Search(settings, limits, root, observer).run()


def reasons_of(content: Mapping[str, Any]) -> list[str]:
    """Why nothing was pushed, a line each; empty where something was."""
    missed: list[Record] = content["missed"]
    return [*map(tell, missed), *([content["refused"]] if content["refused"] else [])]


def _on_front(record: Record, records: Iterable[Record]) -> bool:
    """Whether no other is at least as small, fast and good, and better in one of these."""
    own = _measures(record)
    return not any(
        other != own and all(theirs <= ours for theirs, ours in zip(other, own, strict=True))
        for other in map(_measures, records)
    )


def _measures(record: Record) -> tuple[float, ...]:
    """All that is better when it is less."""
    return (record["megabytes"], *record["milliseconds"].values(), -record["score"]["mean"])


def _weight_of(artifact: Artifact, length: int) -> Weight:
    """Of the rounded file, if there is one."""
    found = _read(artifact, LATENCY_FILE)
    own = next(iter(found.values()))
    return Weight(own["bytes"] / 1e6, own["milliseconds"][str(length)])


def _read(artifact: Artifact, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(artifact.file(name).read_text())
    return content
