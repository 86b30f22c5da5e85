"""The scoring of every task."""

from typing import Any

from components.examples.base import TaskRows
from components.examples.registry import TASK_ROWS
from components.scoring.base import TaskScoring
from components.scoring.classification import ClassificationScoring
from components.scoring.multi_label import LabelSetScoring
from components.scoring.question_answering import QuestionScoring
from components.scoring.regression import EmbeddingScoring, RegressionScoring
from components.scoring.reranking import RerankingScoring
from components.scoring.retrieval import RetrievalScoring
from components.scoring.token_classification import TaggedScoring

TASK_SCORING: dict[str, TaskScoring[Any]] = {
    scoring.name: scoring
    for scoring in (
        ClassificationScoring(), LabelSetScoring(), RegressionScoring(), TaggedScoring(), QuestionScoring(),
        EmbeddingScoring(), RetrievalScoring(), RerankingScoring(),
    )
}  # fmt: skip


def register_task(rows: TaskRows[Any], scoring: TaskScoring[Any]) -> None:
    """Adds the rows and the scoring of a task that `keras_bert.tasks.registry.register_task` has added.

    Rows and scoring stay two objects: training steps only import rows, so that a change of the scoring trains nothing
    again.
    """
    if rows.name != scoring.name or rows.name in TASK_ROWS:
        rule = f"have one name beside {sorted(TASK_ROWS)}"
        raise ValueError(f"register_task: rows and scoring must {rule}, got {rows.name!r} and {scoring.name!r}")
    TASK_ROWS[rows.name] = rows
    TASK_SCORING[scoring.name] = scoring
