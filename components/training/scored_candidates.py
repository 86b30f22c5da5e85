"""A re-ranker's scores of the passages and negatives of queries."""

from collections.abc import Callable, Sequence

from components.sources.retrieval import QueryRow
from components.sources.teacher_columns import TeacherAnswer


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
