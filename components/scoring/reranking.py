"""The scoring of re-ranking: the order of the passages of each query."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from components.examples.reranking import group_queries, has_order
from components.examples.texts import split_texts
from components.scoring.base import Baselines, TaskScores, TaskScoring
from components.scoring.baselines import BM25, COSINE, cosines, match_words
from components.scoring.mistakes import Mistake, Mistakes, cut, worst_first
from components.scoring.row_statistics import RowStatistics
from components.sources.table import TextRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


class ScoredList(NamedTuple):
    """The passages of a query, with their relevances and their scores."""

    rows: list[TextRow]
    relevances: list[float]
    scores: list[float]


class RerankingScoring(TaskScoring[TextRow]):
    """nDCG@10 and MRR@10 of the order of each query's passages, as means over the queries.

    Queries whose passages are all equally relevant have no order, and are left out.
    """

    name = "reranking"
    model_kind = "BERT that scores a passage for a query"
    pipeline_tag = "text-ranking"
    output = "`logits`: float32 (batch, 1), the score"

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        return "ndcg_at_10", "mrr_at_10"

    def answer(self, task: "Task", rows: Sequence[TextRow]) -> list[float]:
        scores: list[float] = task.predict(*split_texts(rows))
        return scores

    def score(self, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]) -> TaskScores:
        lists = _score_lists(rows, answers)
        if not lists:
            raise ValueError(f"rows must hold a query with passages of different relevance, got none in {len(rows)}")
        return TaskScores({name: float(np.mean([scores[name] for scores in lists])) for name in self.metrics(labels)})

    def defines(self, metric: str, rows: Sequence[TextRow]) -> bool:
        return self.count_units(rows) > 0

    def count_units(self, rows: Sequence[TextRow]) -> int:
        return len(_lists(rows, [0.0] * len(rows)))

    def sample_measure(
        self, metric: str, rows: Sequence[TextRow], answers: Sequence[float], labels: Sequence[str]
    ) -> RowStatistics:
        """The mean score of the queries, which are drawn as a whole."""
        return RowStatistics.of_scores(scores[metric] for scores in _score_lists(rows, answers))

    def mistakes(
        self, rows: Sequence[TextRow], answers: Sequence[float], confidences: Sequence[float] | None
    ) -> Mistakes:
        """Queries whose most relevant passage is not first, those with the last ranks first.

        Equal scores are ordered as in `keras_bert.metrics.retrieval.score_list`.
        """
        wrong, lists = [], _lists(rows, answers)
        for ranked in lists:
            order = sorted(
                zip(ranked.scores, ranked.relevances, ranked.rows, strict=True), key=lambda one: (-one[0], one[1])
            )
            best = max(order, key=lambda one: one[1])
            rank = 1 + order.index(best)
            if rank > 1:
                row, first = best[2], order[0][2]
                texts = cut(row.text), cut(row.second_text or "")
                wrong.append(Mistake(texts, "rank 1", cut(first.second_text or ""), float(rank)))
        return Mistakes("rank", worst_first(wrong), len(wrong), len(lists))

    def trivial(self, train: Sequence[TextRow], test: Sequence[TextRow]) -> tuple[str, list[float]]:
        return "random order", np.random.default_rng(0).random(len(test)).tolist()

    def baselines(self, train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> Baselines:
        """BM25 over the passages of the test rows, and the cosine of TF-IDF vectors."""
        queries, passages = split_texts(test)
        return {BM25: lambda: match_words(queries, passages or []), COSINE: lambda: cosines(train, test)}


def _lists(rows: Sequence[TextRow], answers: Sequence[float]) -> list[ScoredList]:
    """The queries whose passages differ in relevance."""
    lists = []
    for indices in group_queries(rows):
        held = [rows[index] for index in indices]
        if has_order(held):
            lists.append(ScoredList(held, [float(row.label) for row in held], [answers[index] for index in indices]))
    return lists


def _score_lists(rows: Sequence[TextRow], answers: Sequence[float]) -> list[dict[str, float]]:
    """The scores of these queries."""
    from keras_bert.metrics.retrieval import score_list

    return [score_list(ranked.scores, ranked.relevances) for ranked in _lists(rows, answers)]
