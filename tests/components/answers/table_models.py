"""Tasks of every kind that answer tables in this process, without a file of a model."""

from pathlib import Path
from typing import Any

import pytest

from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.multi_label import MultiLabelClassification
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.regression import Regression
from keras_bert.tasks.token_classification import TokenClassification
from tests.pipeline.table_tasks import make_task


def classification(**settings: Any) -> Classification:
    numbers = {"cow": [2, 0], "oak": [0, 1]}
    return make_task(Classification, numbers, labels=["animal", "plant"], **{"max_length": 16, **settings})


def label_sets() -> MultiLabelClassification:
    numbers = {"cow": [2, -2], "oak": [-2, 2]}
    return make_task(MultiLabelClassification, numbers, labels=["animal", "plant"], thresholds=[0.6, 0.9])


def regression() -> Regression:
    return make_task(Regression, {"cow": [1.5], "oak": [-0.25]})


def embedding(max_length: int = 16) -> Embedding:
    return make_task(Embedding, {"cow": [3, 0], "hen": [0, 4], "oak": [1 / 3, -2]}, max_length=max_length)


def tagger(*labels: str) -> TokenClassification:
    numbers = {"cow": [0, 2, 0], "hen": [0, 0, 2], "oak": [2, 0, 0], "the": [2, 0, 0]}
    return make_task(TokenClassification, numbers, labels=list(labels), max_length=16)


def entities() -> TokenClassification:
    return tagger("O", "B-animal", "I-animal")


def speech() -> TokenClassification:
    return tagger("DET", "NOUN", "VERB")


def questions() -> QuestionAnswering:
    numbers = {"cow": [9, 0], "hen": [0, 9], "[CLS]": [4, 4]}
    return make_task(QuestionAnswering, numbers, max_length=32, stride=8, max_query_length=8)


def use_task(monkeypatch: pytest.MonkeyPatch, folder: Path, task: Any) -> Path:
    """A file that stands for a task's model wherever a table is answered."""
    model = folder / "model.onnx"
    model.write_text(type(task).__name__)
    monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda place: task)
    return model
