"""The scoring of predicted numbers: correlations and errors."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from components.examples.texts import split_texts
from components.scoring.base import Baselines, TaskScores, TaskScoring
from components.scoring.baselines import COSINE, NGRAMS, estimate_by_cosine, estimate_by_ngrams
from components.scoring.mistakes import Mistake, Mistakes, worst_first
from components.scoring.row_statistics import RowStatistics, number_statistics
from components.scoring.texts import displayed_texts, predict_rows
from components.sources.table import TextRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

OF_NUMBERS = ("spearman", "pearson")


class RegressionScoring(TaskScoring[TextRow]):
    """Spearman's and Pearson's correlation, and the errors of the numbers."""

    name = "regression"
    model_kind = "BERT that gives a text a number"
    output = "`logits`: float32 (batch, 1), the number"

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Spearman's first; errors, of which less is better, are none to choose by."""
        return (*OF_NUMBERS, "r2")

    def texts(self, rows: Sequence[TextRow]) -> tuple[list[str], list[str] | None]:
        """See `TaskScoring.texts`."""
        return split_texts(rows)

    def answer(self, task: "Task", rows: Sequence[TextRow]) -> list[float]:
        """The number of each row."""
        return predict_rows(task, rows)

    def score(self, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]) -> TaskScores:
        """Those of `score_numbers` and of `keras_bert.metrics.number_errors`."""
        from keras_bert.metrics.number_errors import number_errors

        errors = number_errors(answers, [float(row.label) for row in rows])
        return TaskScores(score_numbers(rows, answers).metrics | errors)

    def mistakes(
        self, rows: Sequence[TextRow], answers: Sequence[float], confidences: Sequence[float] | None
    ) -> Mistakes:
        """The largest differences."""
        mistakes = [
            Mistake(displayed_texts(row), row.label, f"{answer:.4g}", abs(answer - float(row.label)))
            for row, answer in zip(rows, answers, strict=True)
        ]
        return Mistakes("difference", worst_first(mistakes), None, len(rows))

    def sample_measure(
        self, metric: str, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]
    ) -> RowStatistics | None:
        """See `number_statistics`."""
        return number_statistics(metric, answers, [float(row.label) for row in rows])

    def trivial(self, train: Sequence[TextRow], test: Sequence[TextRow]) -> tuple[str, list[float]]:
        """Always the mean of training, which orders nothing."""
        return "training mean", [statistics.fmean(float(row.label) for row in train)] * len(test)

    def baselines(self, train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> Baselines:
        """Ridge regression on n-grams; of pairs also linear regression on the cosine of both texts."""
        methods: Baselines = {NGRAMS: lambda: estimate_by_ngrams(train, validation, test)}
        if train[0].second_text is not None:
            methods[COSINE] = lambda: estimate_by_cosine(train, test)
        return methods


def score_numbers(rows: Sequence[TextRow], answers: Sequence[float]) -> TaskScores:
    """Spearman's and Pearson's correlation; both 0 for answers that are all alike: they order nothing."""
    from keras_bert.metrics.correlation import correlations

    if len(set(answers)) < 2:
        return TaskScores(dict.fromkeys(OF_NUMBERS, 0.0))
    scores = correlations(answers, [float(row.label) for row in rows])
    return TaskScores({name: scores[name] for name in OF_NUMBERS})
