"""Numbers, by how well they follow the true ones."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.scoring.base import TaskScores, TaskScoring
from components.scoring.baselines import COSINE, NGRAMS, cosines, estimate_by_ngrams
from components.scoring.mistakes import Mistake, Mistakes, worst_first
from components.scoring.texts import ask_texts, shown_texts
from components.sources.table import TextRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

OF_NUMBERS = ("spearman", "pearson")


class RegressionScoring(TaskScoring[TextRow]):
    """Spearman's and Pearson's correlation."""

    name = "regression"

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Spearman's first."""
        return OF_NUMBERS

    def ask(self, task: "Task", rows: Sequence[TextRow]) -> list[float]:
        """The number of each row."""
        return ask_texts(task, rows)

    def score(self, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]) -> TaskScores:
        """See `score_numbers`."""
        return score_numbers(rows, answers)

    def mistakes(
        self, rows: Sequence[TextRow], answers: Sequence[float], confidences: Sequence[float] | None
    ) -> Mistakes:
        """The largest differences."""
        found = [
            Mistake(shown_texts(row), row.label, f"{answer:.4g}", abs(answer - float(row.label)))
            for row, answer in zip(rows, answers, strict=True)
        ]
        return Mistakes("difference", worst_first(found), None, len(rows))

    def trivial(self, train: Sequence[TextRow], test: Sequence[TextRow]) -> tuple[str, list[float]]:
        """Always the mean of training, which orders nothing."""
        return "training mean", [statistics.fmean(float(row.label) for row in train)] * len(test)

    def baselines(
        self, train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]
    ) -> dict[str, list[Any]]:
        """Ridge regression on n-grams; of pairs also the cosine of both texts."""
        found: dict[str, list[Any]] = {NGRAMS: estimate_by_ngrams(train, validation, test)}
        if train[0].second_text is not None:
            found[COSINE] = cosines(train, test)
        return found


def score_numbers(rows: Sequence[TextRow], answers: Sequence[float]) -> TaskScores:
    """Spearman's and Pearson's correlation; both 0 for answers that are all alike: they order nothing."""
    from keras_bert.metrics.correlation import correlations

    if len(set(answers)) < 2:
        return TaskScores(dict.fromkeys(OF_NUMBERS, 0.0))
    found = correlations(answers, [float(row.label) for row in rows])
    return TaskScores({name: found[name] for name in OF_NUMBERS})
