"""The scoring of predicted numbers: correlations and errors."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from components.examples.texts import split_texts
from components.scoring.base import Baselines, TaskScores, TaskScoring
from components.scoring.baselines import COSINE, NGRAMS, cosines, estimate_by_cosine, estimate_by_ngrams
from components.scoring.mistakes import Mistake, Mistakes, displayed_texts, worst_first
from components.scoring.row_statistics import RowStatistics, number_statistics
from components.sources.table import TextRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

OF_NUMBERS = ("spearman", "pearson")


class NumberScoring(TaskScoring[TextRow]):
    """What answers have in common that are numbers."""

    def sample_measure(
        self, metric: str, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]
    ) -> RowStatistics | None:
        return number_statistics(metric, answers, [float(row.label) for row in rows])

    def given_answers(self, rows: Sequence[TextRow], labels: Sequence[str]) -> list[float]:
        return [row.teacher.numbers[0] for row in rows if row.teacher]


class RegressionScoring(NumberScoring):
    """Spearman's and Pearson's correlation, and the errors of the numbers."""

    name = "regression"
    model_kind = "BERT that gives a text a number"
    output = "`logits`: float32 (batch, 1), the number"

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Spearman's first; errors, of which less is better, are none to choose by."""
        return (*OF_NUMBERS, "r2")

    def answer(self, task: "Task", rows: Sequence[TextRow]) -> list[float]:
        numbers: list[float] = task.predict(*split_texts(rows))
        return numbers

    def score(self, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]) -> TaskScores:
        from keras_bert.metrics.regression import number_errors

        errors = number_errors(answers, [float(row.label) for row in rows])
        return TaskScores(score_numbers(rows, answers).metrics | errors)

    def mistakes(
        self, rows: Sequence[TextRow], answers: Sequence[float], confidences: Sequence[float] | None
    ) -> Mistakes:
        mistakes = [
            Mistake(displayed_texts(row), row.label, f"{answer:.4g}", abs(answer - float(row.label)))
            for row, answer in zip(rows, answers, strict=True)
        ]
        return Mistakes("difference", worst_first(mistakes), None, len(rows))

    def trivial(self, train: Sequence[TextRow], test: Sequence[TextRow]) -> tuple[str, list[float]]:
        """Always the mean of training, which orders nothing."""
        return "training mean", [statistics.fmean(float(row.label) for row in train)] * len(test)

    def baselines(self, train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> Baselines:
        """Ridge regression on n-grams; of pairs also linear regression on the cosine of both texts."""
        methods: Baselines = {NGRAMS: lambda: estimate_by_ngrams(train, validation, test)}
        if train[0].second_text is not None:
            methods[COSINE] = lambda: estimate_by_cosine(train, test)
        return methods


class EmbeddingScoring(NumberScoring):
    """Spearman's and Pearson's correlation of the cosines of pairs."""

    name = "embedding"
    model_kind = "BERT that makes vectors of texts"
    pipeline_tag = "sentence-similarity"
    output = "`embedding`: float32 (batch, width)"

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        return OF_NUMBERS

    def answer(self, task: "Task", rows: Sequence[TextRow]) -> list[float]:
        from keras_bert.tasks.embedding import Embedding

        texts, seconds = split_texts(rows)
        assert isinstance(task, Embedding)
        assert seconds is not None
        return task.compare_pairs(task.predict(texts), task.predict(seconds))

    def score(self, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]) -> TaskScores:
        return score_numbers(rows, answers)

    def mistakes(
        self, rows: Sequence[TextRow], answers: Sequence[float], confidences: Sequence[float] | None
    ) -> Mistakes:
        """Pairs whose place among all cosines is farthest from their place among all labels, as a share of the rows."""
        from scipy.stats import rankdata

        ranks = [rankdata(values) for values in (answers, [float(row.label) for row in rows])]
        mistakes = [
            Mistake(displayed_texts(row), row.label, f"{answer:.4g}", float(abs(one - other)) / len(rows))
            for row, answer, one, other in zip(rows, answers, *ranks, strict=True)
        ]
        return Mistakes("distance of ranks", worst_first(mistakes), None, len(rows))

    def trivial(self, train: Sequence[TextRow], test: Sequence[TextRow]) -> tuple[str, list[float]]:
        """Equal cosines, whose correlation is that of an average random order, 0."""
        return "random order", [0.0] * len(test)

    def baselines(self, train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> Baselines:
        return {COSINE: lambda: cosines(train, test)}


def score_numbers(rows: Sequence[TextRow], answers: Sequence[float]) -> TaskScores:
    """Spearman's and Pearson's correlation; both 0 for answers that are all alike: they order nothing."""
    from keras_bert.metrics.regression import correlations

    if len(set(answers)) < 2:
        return TaskScores(dict.fromkeys(OF_NUMBERS, 0.0))
    scores = correlations(answers, [float(row.label) for row in rows])
    return TaskScores({name: scores[name] for name in OF_NUMBERS})
