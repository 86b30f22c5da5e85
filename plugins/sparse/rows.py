"""Rows of the task `sparse`, which are those of `retrieval`, and their scores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from components.examples.retrieval import RetrievalRows, SplitCorpus
from components.scoring.retrieval import Ranking, RetrievalScoring, rank_rows
from components.sources.retrieval import QueryRow, RetrievalSource
from keras_bert.core.validation import validated_dataclass

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@validated_dataclass(kw_only=False)
class SparseSource(RetrievalSource):
    """Rows of `retrieval`, for sparse vectors."""

    task: Literal["sparse"] = "sparse"  # type: ignore[assignment]


class SparseRows(RetrievalRows):
    """A query, its passages and its negatives, as of `retrieval`."""

    name = "sparse"
    has_vectors = False


class SparseScoring(RetrievalScoring):
    """The scores of `retrieval`, by inner products of sparse vectors."""

    name = "sparse"
    model_kind = "BERT that makes sparse vectors of queries and passages"
    output = "`embedding`: float32 (batch, vocabulary), the weight of each token of the vocabulary"
    has_variants = False

    def answer(self, task: "Task", rows: Sequence[QueryRow]) -> list[Ranking]:
        from plugins.sparse.task import Sparse

        assert isinstance(task, Sparse)
        corpus = SplitCorpus.of(rows)
        queries = task.term_vectors([row.query for row in rows], prompt="query")
        passages = task.term_vectors(corpus.passages, prompt="passage")
        return rank_rows(corpus, lambda part: task.compare(queries[part], passages))

    def variants(self, task: "Task", rows: Sequence[QueryRow], answers: Sequence[Ranking]) -> dict[str, list[Ranking]]:
        return {}
