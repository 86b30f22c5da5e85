"""Rows of the task `late_interaction`, which are those of `retrieval`, and their scores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from components.examples.retrieval import RetrievalRows, SplitCorpus
from components.scoring.retrieval import Ranking, RetrievalScoring, rank_rows
from components.sources.retrieval import QueryRow, RetrievalSource
from keras_bert.core.validation import validated_dataclass

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

# The factor of the pooled vectors in the table of models.
_POOL_FACTOR = 2


@validated_dataclass(kw_only=False)
class LateInteractionSource(RetrievalSource):
    """Rows of `retrieval`, for a vector for each token."""

    task: Literal["late_interaction"] = "late_interaction"  # type: ignore[assignment]


class LateInteractionRows(RetrievalRows):
    """A query, its passages and its negatives, as of `retrieval`."""

    name = "late_interaction"
    has_vectors = imitates_states = False


class LateInteractionScoring(RetrievalScoring):
    """The scores of `retrieval`, by the best match of each token of a query."""

    name = "late_interaction"
    model_kind = "BERT that makes a vector of each token of queries and passages"
    output = "`embedding`: float32 (batch, length, width)"

    def answer(self, task: "Task", rows: Sequence[QueryRow]) -> list[Ranking]:
        corpus, queries, passages = _embed(task, rows)
        return _rank(corpus, queries, passages)

    def variants(self, task: "Task", rows: Sequence[QueryRow], answers: Sequence[Ranking]) -> dict[str, list[Ranking]]:
        """The rankings by vectors in fewer bytes: int8, and half as many vectors, also as int8."""
        from keras_bert.core.vector_codes import int8_codes
        from plugins.late_interaction.tokens import pool_tokens

        corpus, queries, passages = _embed(task, rows)
        pooled = [pool_tokens(vectors, _POOL_FACTOR) for vectors in passages]
        coded = {"int8 vectors": passages, "pooled int8 vectors": pooled}
        rankings = {}
        for name, texts in coded.items():
            codes = [int8_codes(vectors) for vectors in texts]
            numbers = [code.astype("float32") / np.linalg.norm(code, axis=1, keepdims=True) for code in codes]
            mean = sum(code.nbytes for code in codes) // len(codes)
            rankings[f"{name}, {mean:,} bytes a passage"] = _rank(corpus, queries, numbers)
        mean = sum(vectors.nbytes for vectors in passages) // len(passages)
        return {f"float32 vectors, {mean:,} bytes a passage": list(answers), **rankings}


def _embed(task: Any, rows: Sequence[QueryRow]) -> tuple[SplitCorpus, list[Any], list[Any]]:
    """The corpus of the rows, and the vectors of the tokens of queries and of passages."""
    corpus = SplitCorpus.of(rows)
    queries = task.predict([row.query for row in rows], prompt="query")
    return corpus, queries, task.predict(corpus.passages, prompt="passage")


def _rank(corpus: SplitCorpus, queries: Sequence[Any], passages: Sequence[Any]) -> list[Ranking]:
    from plugins.late_interaction.tokens import compare_tokens

    return rank_rows(corpus, lambda part: compare_tokens(queries[part], passages))
