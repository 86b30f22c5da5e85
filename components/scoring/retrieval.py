"""The scoring of retrieval: the ranks of the right passages among all passages of a split."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.dsl.arrays import Array
from components.examples.retrieval import SplitCorpus
from components.scoring.base import Baselines, TaskScores, TaskScoring
from components.scoring.baselines import BM25, weigh_words
from components.scoring.mistakes import Mistake, Mistakes, cut, worst_first
from components.scoring.row_statistics import RowStatistics
from components.sources.retrieval import QueryRow

if TYPE_CHECKING:
    from keras_bert.metrics.retrieval import Ranks
    from keras_bert.tasks.base import Task

    Scores = Callable[[slice], Array]

# Rows whose scores with all passages are in memory at once.
_ROWS_AT_ONCE = 256


class Ranking(NamedTuple):
    """The ranks of a query's passages, see `keras_bert.metrics.retrieval.rank_scores`, and the passage with rank 1.

    Among equals that is one that is not its own.
    """

    ranks: "tuple[Ranks, ...]"
    first: str


class RetrievalScoring(TaskScoring[QueryRow]):
    """nDCG@10, MRR@10, recall and MAP of the search for each query among all passages of the split."""

    name = "retrieval"
    model_kind = "BERT that makes vectors of queries and passages"
    pipeline_tag = "sentence-similarity"
    output = "`embedding`: float32 (batch, width)"
    has_variants = True

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        from keras_bert.metrics.retrieval import METRICS

        return METRICS

    def texts(self, rows: Sequence[QueryRow]) -> tuple[list[str], list[str] | None]:
        return [row.query for row in rows], [row.passages[0] for row in rows]

    def answer(self, task: "Task", rows: Sequence[QueryRow]) -> list[Ranking]:
        """The ranks of each row's passages by the similarity that the task compares with."""
        from keras_bert.tasks.embedding import Embedding

        assert isinstance(task, Embedding)
        corpus, queries, passages = _embed(task, rows)
        return rank_rows(corpus, lambda part: task.compare(queries[part], passages))

    def score(self, rows: Sequence[QueryRow], answers: Sequence[Ranking], labels: Sequence[str]) -> TaskScores:
        from keras_bert.metrics.retrieval import retrieval_scores

        return TaskScores(retrieval_scores([answer.ranks for answer in answers]))

    def sample_measure(
        self, metric: str, rows: Sequence[QueryRow], answers: Sequence[Ranking], labels: Sequence[str]
    ) -> RowStatistics:
        from keras_bert.metrics.retrieval import query_scores

        return RowStatistics.of_scores(query_scores(answer.ranks)[metric] for answer in answers)

    def variants(self, task: "Task", rows: Sequence[QueryRow], answers: Sequence[Ranking]) -> dict[str, list[Ranking]]:
        """The rankings by vectors in fewer bytes, see `keras_bert.core.vector_codes`."""
        corpus, queries, passages = _embed(task, rows)
        return {name: rank_rows(corpus, scores) for name, scores in code_scores(queries, passages).items()}

    def mistakes(
        self, rows: Sequence[QueryRow], answers: Sequence[Ranking], confidences: Sequence[float] | None
    ) -> Mistakes:
        """Queries whose passages may all have another one before them, those with the last ranks first.

        The rank of a passage among equals is their mean.
        """
        wrong = [
            Mistake((cut(row.query), cut(row.passages[0])), "rank 1", cut(answer.first), sum(answer.ranks[0]) / 2)
            for row, answer in zip(rows, answers, strict=True)
            if answer.ranks[0][1] > 1
        ]
        return Mistakes("rank", worst_first(wrong), len(wrong), len(rows))

    def trivial(self, train: Sequence[QueryRow], test: Sequence[QueryRow]) -> tuple[str, list[Ranking]]:
        corpus, chance = SplitCorpus.of(test), np.random.default_rng(0)
        passages = len(corpus.passages)
        return "random order", rank_rows(corpus, lambda part: chance.random((len(corpus.relevant[part]), passages)))

    def baselines(
        self, train: Sequence[QueryRow], validation: Sequence[QueryRow], test: Sequence[QueryRow]
    ) -> Baselines:
        """BM25, which only looks at the words of the query."""
        return {BM25: lambda: search_words(test)}


def _embed(task: Any, rows: Sequence[QueryRow]) -> tuple[SplitCorpus, Array, Array]:
    """The corpus of the rows, and the vectors of their queries and of its passages."""
    corpus = SplitCorpus.of(rows)
    queries = task.predict([row.query for row in rows], prompt="query")
    return corpus, queries, task.predict(corpus.passages, prompt="passage")


def rank_rows(corpus: SplitCorpus, scores: "Scores") -> list[Ranking]:
    """The rankings of all rows.

    `scores` gives the scores of a slice of the rows with all passages (rows, passages).
    """
    from keras_bert.metrics.retrieval import rank_scores
    from keras_bert.tasks.base import slices

    rankings = []
    for part in slices(len(corpus.relevant), _ROWS_AT_ONCE):
        for row, relevant in zip(scores(part), corpus.relevant[part], strict=True):
            first = min(np.flatnonzero(row == row.max()).tolist(), key=lambda place: place in relevant)
            rankings.append(Ranking(rank_scores(row, relevant), corpus.passages[first]))
    return rankings


def code_scores(queries: Array, passages: Array) -> "dict[str, Scores]":
    """Use of vectors in fewer bytes -> the scores of slices of the queries; each passage is coded once."""
    from keras_bert.core.vector_codes import binary_codes, hamming_distances, int8_codes, rescored_scores
    from keras_bert.tasks.embedding import cosine_similarity

    bytes_, bits = ([code(side) for side in (queries, passages)] for code in (int8_codes, binary_codes))
    numbers = [codes.astype("float32") for codes in bytes_]
    return {
        "int8 vectors": lambda part: cosine_similarity(numbers[0][part], numbers[1]),
        "binary vectors": lambda part: -hamming_distances(bits[0][part], bits[1]),
        "binary vectors, rescored": lambda part: rescored_scores(queries[part], bits[1]),
    }


def search_words(rows: Sequence[QueryRow]) -> list[Ranking]:
    """The rankings of BM25 over the words of a split's passages, see `weigh_words`."""
    corpus = SplitCorpus.of(rows)
    queries, passages = weigh_words([row.query for row in rows], corpus.passages)
    return rank_rows(corpus, lambda part: (queries[part] @ passages.T).toarray())
