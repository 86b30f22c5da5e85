"""The scoring of every task."""

from typing import Any

from components.scoring.base import TaskScoring
from components.scoring.classification import ClassificationScoring
from components.scoring.embedding import EmbeddingScoring
from components.scoring.multi_label import LabelSetScoring
from components.scoring.question_answering import QuestionScoring
from components.scoring.regression import RegressionScoring
from components.scoring.retrieval import RetrievalScoring
from components.scoring.token_classification import TaggedScoring

TASK_SCORING: dict[str, TaskScoring[Any]] = {
    scoring.name: scoring
    for scoring in (
        ClassificationScoring(), LabelSetScoring(), RegressionScoring(), TaggedScoring(), QuestionScoring(),
        EmbeddingScoring(), RetrievalScoring(),
    )
}  # fmt: skip
