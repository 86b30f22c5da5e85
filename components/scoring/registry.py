"""The scoring of every task."""

from typing import Any

from components.scoring.base import TaskScoring
from components.scoring.classification import ClassificationScoring
from components.scoring.multi_label import LabelSetScoring
from components.scoring.question_answering import QuestionScoring
from components.scoring.regression import EmbeddingScoring, RegressionScoring
from components.scoring.reranking import RerankingScoring
from components.scoring.retrieval import RetrievalScoring
from components.scoring.token_classification import TaggedScoring
from keras_bert.core.plugins import find_plugins

TASK_SCORING: dict[str, TaskScoring[Any]] = {
    scoring.name: scoring
    for scoring in (
        ClassificationScoring(), LabelSetScoring(), RegressionScoring(), TaggedScoring(), QuestionScoring(),
        EmbeddingScoring(), RetrievalScoring(), RerankingScoring(),
        *(plugin.load()() for plugin in find_plugins("task_scoring").values()),
    )
}  # fmt: skip
