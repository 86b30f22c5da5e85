"""A teacher's scores of the passages and negatives of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from components.sources.retrieval import QueryRow
from components.sources.teacher_columns import TeacherAnswer
from keras_bert.options.training import Contrast

if TYPE_CHECKING:
    from keras_bert.tasks.base import Array
    from keras_bert.tasks.embedding import Embedding, PromptName


# Rows between two reports of the progress.
_ROWS = 256


def score_candidates(
    rows: Sequence[QueryRow],
    predict: Callable[[list[str], list[str]], list[float]],
    report: Callable[[int], None] = lambda done: None,
) -> list[QueryRow]:
    """The rows with a teacher's scores: of the passages, then of the negatives; none where there are no negatives.

    `report` is called with the number of rows that are done.
    """
    scored = list[QueryRow]()
    for start in range(0, len(rows), _ROWS):
        report(start)
        part = rows[start : start + _ROWS]
        candidates = [(*row.passages, *row.negatives) if row.negatives else () for row in part]
        queries = [row.query for row, texts in zip(part, candidates, strict=True) for _ in texts]
        scores = iter(predict(queries, [text for texts in candidates for text in texts]) if queries else ())
        scored += [
            row._replace(teacher=TeacherAnswer(tuple(next(scores) for _ in texts), is_label=False) if texts else ())
            for row, texts in zip(part, candidates, strict=True)
        ]
    return scored


def similarities(task: Embedding, scale: float | None = None) -> Callable[[list[str], list[str]], list[float]]:
    """A function from queries and passages to the similarities of their vectors times `scale`, as the loss has them.

    The vector of a text is computed once. A `scale` of None is that of the usual losses: 1 for dot products, which have
    no bound, else the default of `Contrast`.
    """
    factor = scale or (1.0 if task.similarity_function == "dot" else Contrast().scale)
    vectors_of: dict[PromptName, dict[str, Array]] = {"query": {}, "passage": {}}

    def vectors(texts: list[str], prompt: PromptName) -> list[Array]:
        of_text = vectors_of[prompt]
        new = [text for text in dict.fromkeys(texts) if text not in of_text]
        of_text.update(zip(new, task.predict(new, prompt=prompt) if new else (), strict=True))
        return [of_text[text] for text in texts]

    def predict(queries: list[str], passages: list[str]) -> list[float]:
        pairs = task.compare_pairs(vectors(queries, "query"), vectors(passages, "passage"))
        return [factor * similarity for similarity in pairs]

    return predict
