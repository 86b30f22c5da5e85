"""The scoring of embeddings: correlations of cosines with the similarity of texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from components.examples.texts import split_texts
from components.scoring.base import Baselines, TaskScores, TaskScoring
from components.scoring.baselines import COSINE, cosines
from components.scoring.mistakes import Mistake, Mistakes, worst_first
from components.scoring.regression import OF_NUMBERS, score_numbers
from components.scoring.row_statistics import RowStatistics, number_statistics
from components.scoring.texts import displayed_texts
from components.sources.table import TextRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


class EmbeddingScoring(TaskScoring[TextRow]):
    """Spearman's and Pearson's correlation of the cosines of pairs."""

    name = "embedding"
    model_kind = "BERT that makes vectors of texts"
    output = "`embedding`: float32 (batch, width)"

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Spearman's first."""
        return OF_NUMBERS

    def texts(self, rows: Sequence[TextRow]) -> tuple[list[str], list[str] | None]:
        """See `TaskScoring.texts`."""
        return split_texts(rows)

    def answer(self, task: "Task", rows: Sequence[TextRow]) -> list[float]:
        """The similarity of each pair, as the task compares vectors."""
        from keras_bert.tasks.embedding import Embedding

        texts, seconds = split_texts(rows)
        assert isinstance(task, Embedding)
        assert seconds is not None
        return task.compare_pairs(task.predict(texts), task.predict(seconds))

    def score(self, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]) -> TaskScores:
        """See `score_numbers`."""
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

    def sample_measure(
        self, metric: str, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]
    ) -> RowStatistics | None:
        """See `number_statistics`."""
        return number_statistics(metric, answers, [float(row.label) for row in rows])

    def trivial(self, train: Sequence[TextRow], test: Sequence[TextRow]) -> tuple[str, list[float]]:
        """Equal cosines, whose correlation is that of an average random order, 0."""
        return "random order", [0.0] * len(test)

    def baselines(self, train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> Baselines:
        """The cosine of TF-IDF vectors."""
        return {COSINE: lambda: cosines(train, test)}
