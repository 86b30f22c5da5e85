"""A teacher's scores of the passages and negatives of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from components.sources.retrieval import QueryRow
from components.sources.teacher_columns import TeacherAnswer

if TYPE_CHECKING:
    from keras_bert.tasks.base import Array
    from keras_bert.tasks.embedding import Embedding, PromptName


def score_candidates(
    rows: Sequence[QueryRow], predict: Callable[[list[str], list[str]], list[float]]
) -> list[QueryRow]:
    """The rows with a teacher's scores: of the passages, then of the negatives; none where there are no negatives."""
    candidates = [(*row.passages, *row.negatives) if row.negatives else () for row in rows]
    queries = [row.query for row, texts in zip(rows, candidates, strict=True) for _ in texts]
    scores = iter(predict(queries, [text for texts in candidates for text in texts]) if queries else ())
    return [
        row._replace(teacher=TeacherAnswer(tuple(next(scores) for _ in texts), is_label=False) if texts else ())
        for row, texts in zip(rows, candidates, strict=True)
    ]


def similarities(task: Embedding, scale: float) -> Callable[[list[str], list[str]], list[float]]:
    """A function from queries and passages to the similarities of their vectors times `scale`, as the loss has them."""

    def vectors(texts: list[str], prompt: PromptName) -> Array:
        distinct = list(dict.fromkeys(texts))
        of_text = dict(zip(distinct, task.predict(distinct, prompt=prompt), strict=True))
        return np.stack([of_text[text] for text in texts])

    def predict(queries: list[str], passages: list[str]) -> list[float]:
        pairs = task.compare_pairs(vectors(queries, "query"), vectors(passages, "passage"))
        return [scale * similarity for similarity in pairs]

    return predict
