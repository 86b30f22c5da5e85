"""A notebook's model and a job's model from the same rows, settings and seed are equal bit for bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keras_bert
from components.artifacts.standard import Model, TaskExamples
from components.distill import distill
from components.examples.registry import read_rows
from components.fine_tune import fine_tune
from components.prune import prune
from components.quantize import quantize
from components.training.model_folder import read_model
from components.training.tuning import build_task
from keras_bert.compress.quantization_parameters import read_quantization
from keras_bert.options.compression import Student
from keras_bert.options.fine_tuning import Selection
from keras_bert.options.training import Training
from keras_bert.tasks.base import Task
from tests.components import tuning_job
from tests.components.tuning_job import QUANTIZATION, Line
from tests.samples import long_but

Lines = Callable[[str], Line]

# The last batch of an epoch is not full.
TRAINING = Training(epochs=1.5, batch_size=16, learning_rate=1e-3, seed=5, xla="off")


def columns(examples: TaskExamples) -> list[list[Any]]:
    """The training rows as a notebook has them, in their order."""
    task, rows = examples.features()["task"], read_rows(examples, "train")
    if task == "question_answering":
        first = [row.answers[0] if row.answers else None for row in rows]
        return [[row.question for row in rows], [row.context for row in rows], first]
    if task == "retrieval":
        return [[row.query for row in rows], [row.passages[0] for row in rows]]
    if task == "token_classification":
        return [[list(row.words) for row in rows], [list(row.tags) for row in rows]]
    if task in ("embedding", "reranking"):
        return [[row.text for row in rows], [row.second_text for row in rows], [float(row.label) for row in rows]]
    texts = [row.text for row in rows]
    if task == "multi_label":
        return [texts, [list(row.labels) for row in rows]]
    return [texts, [row.label if task == "classification" else float(row.label) for row in rows]]


def assert_equal(made: Task, artifact: Model) -> None:
    """Each weight and each range of activations has the same bits."""
    stored = read_model(artifact)
    for ours, theirs in zip(made.model.weights, stored.model.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=ours.path)
    assert made.quantization == read_quantization(artifact.path)


@pytest.fixture
def notebook() -> dict[str, Any]:
    """The settings of a training as a notebook gives them."""
    return {"verbose": 0, **{name: value for name, value in vars(TRAINING).items() if name != "steps"}}


@pytest.mark.parametrize("task", long_but(("classification",), (*tuning_job.TASKS, "reranking")))
def test_every_task_is_fitted_distilled_pruned_and_quantized_alike(
    line: Lines, tmp_path: Path, notebook: dict[str, Any], task: str
) -> None:
    artifacts = line(task)
    examples, rows = artifacts.examples, columns(artifacts.examples)
    given = {"examples": examples, "training": TRAINING}
    teacher, student, pruned, quantized = (Model(tmp_path / name) for name in ("fitted", "small", "pruned", "rounded"))
    with tuning_job.eagerly():
        fine_tune.run(**given, pretrained=artifacts.pretrained, model=teacher, selection=Selection(keep="last"))
        made = build_task(read_model(artifacts.pretrained), examples.features(), None)
        made.fit(*rows, **notebook)
        assert_equal(made, teacher)

        distill.run(**given, teacher=teacher, student=student, shape=Student(num_layers=1))
        small = keras_bert.distill(made, *rows, layers=[0], **notebook)
        assert_equal(small, student)

        prune.run(**given, student=student, pruned=pruned)
        keras_bert.prune(small, *rows, **notebook)
        assert_equal(small, pruned)

        quantize.run(**given, student=pruned, quantized=quantized, quantization=QUANTIZATION)
        keras_bert.quantize(small, *rows, quantization=QUANTIZATION, **notebook)
        assert_equal(small, quantized)
