"""Scores of models, files, baselines and the previously pushed version on the rows of a split."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.artifacts.evaluation import MeasuredModel, SeedScores
from components.dsl.step_folders import report_progress
from components.scoring.base import LabelLogits, TaskScores
from components.scoring.blessing import NOT_COMPARED, PREVIOUS
from components.scoring.candidates import ScoredFile
from components.scoring.registry import TASK_SCORING
from components.sources.pushed_version import PushedVersion
from components.sources.teacher_columns import TEACHER
from keras_bert.core.processor import usable_processors

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


class Scored(NamedTuple):
    """The answers of a model to the rows of a split, and their scores."""

    scores: TaskScores
    answers: list[Any]


class ScoredBaselines(NamedTuple):
    """Scores of baselines that use no language model, the trivial answer first, and why others were left out."""

    models: dict[str, MeasuredModel]
    scored: dict[str, list[Scored]]
    left_out: dict[str, str]


class ModelScorer:
    """Runs tasks on rows and scores their answers; reports progress, of `total` rows over all models, before each."""

    def __init__(self, description: Mapping[str, Any], total: int, part: str = "") -> None:
        self.scoring = TASK_SCORING[description["task"]]
        self.labels: list[str] = description["settings"].get("labels", [])
        self.classes = self.scoring.classes(self.labels)
        self._done, self._total, self._part = 0, total, part

    def report(self, note: str, work: int) -> None:
        """Reports progress before `work` rows are answered."""
        report_progress(self._done, self._total, note)
        self._done += work

    def _score(self, task: "Task", rows: Sequence[Any]) -> Scored:
        answers = self.scoring.answer(task, rows)
        return Scored(self.scoring.score(rows, answers, self.labels), answers)

    def score_seeds(self, name: str, seeds: Sequence[ScoredFile], rows: Sequence[Any]) -> list[Scored]:
        """Scores the model of each seed; one model is in memory at a time."""
        scored = []
        for number, candidate in enumerate(seeds, start=1):
            self.report(name if len(seeds) == 1 else f"{name}, {number} of {len(seeds)}", len(rows))
            scored.append(self._score(candidate.open(), rows))
        return scored

    def score_variants(
        self, name: str, seeds: Sequence[ScoredFile], rows: Sequence[Any], scored: Sequence[Scored]
    ) -> dict[str, MeasuredModel]:
        """Scores other uses of the outputs of each seed's model as rows of the table, see `TaskScoring.variants`."""
        if not self.scoring.has_variants:
            return {}
        by_seed = []
        for candidate, usual in zip(seeds, scored, strict=True):
            self.report(f"variants of {name}", len(rows))
            by_seed.append(self.scoring.variants(candidate.open(), rows, usual.answers))
        scores = {
            variant: [self.scoring.score(rows, answers[variant], self.labels).metrics for answers in by_seed]
            for variant in by_seed[0]
        }
        return {f"{name}, {variant}": MeasuredModel(SeedScores.table(seed)) for variant, seed in scores.items()}

    def read_logits(self, note: str, file: ScoredFile, rows: Sequence[Any]) -> LabelLogits:
        """The logits from which a file's labels are computed."""
        self.report(note, len(rows))
        return self.scoring.logits(file.open(), rows)

    def score_baselines(self, train: Sequence[Any], validation: Sequence[Any], test: Sequence[Any]) -> ScoredBaselines:
        """Scores the trivial answer and the baselines without a language model on the test rows."""
        self.report("baselines", len(test))
        result = ScoredBaselines({}, {}, {})
        trivial = self.scoring.trivial(train, test)
        if trivial is not None:
            name, answers = trivial
            result.scored[name] = [Scored(self.scoring.score(test, answers, self.labels), answers)]
        for method, answer in self.scoring.baselines(train, validation, test).items():
            try:
                answers = answer()
                result.scored[method] = [Scored(self.scoring.score(test, answers, self.labels), answers)]
            except ValueError as error:
                result.left_out[method] = " ".join(str(error).split())
        for name, (scored,) in result.scored.items():
            is_trivial = trivial is not None and name == trivial[0]
            metrics = SeedScores.table([scored.scores.metrics])
            result.models[name] = MeasuredModel(metrics, trivial=is_trivial, baseline=not is_trivial)
        return result

    def score_column(self, test: Sequence[Any]) -> tuple[list[Scored], str]:
        """Scores the teacher's answers in the test rows; else returns no scores and the reason, empty without any."""
        answered = sum(bool(getattr(row, TEACHER, ())) for row in test)
        if not answered or answered < len(test):
            return [], f"{len(test) - answered} of {len(test)} test rows have no answer" if answered else ""
        answers = self.scoring.given_answers(test, self.labels)
        if answers is None:
            return [], f"a teacher's answers are no answers to {self.scoring.name}"
        return [Scored(self.scoring.score(test, answers, self.labels), answers)], ""

    def score_previous(self, previous: PushedVersion | None, test: Sequence[Any]) -> tuple[list[Scored], str]:
        """Scores the previously pushed version with its own vocabulary; else returns no scores and the reason."""
        from keras_bert.export.bundle import load_exported
        from keras_bert.tasks.base import take_part

        if previous is None:
            return [], ""
        self.report(PREVIOUS, len(test))
        try:
            task = take_part(load_exported(previous.fetch(), num_threads=usable_processors()), self._part)
        except (OSError, ValueError) as error:
            return [], f"{NOT_COMPARED}the version before, {previous.name}, cannot be opened: {error}"
        if (task.name, list(task.labels)) != (self.scoring.name, self.labels):
            return [], f"{NOT_COMPARED}the version before, {previous.name}, knows another task or other labels"
        return [self._score(task, test)], ""
