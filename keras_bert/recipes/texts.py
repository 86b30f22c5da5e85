"""Texts without labels as rows of an embedding, which learns a teacher's vectors of them."""

from typing import Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.data.schemas import TEACHER_ANSWERS, TEXT
from keras_bert.objectives.base import TaskObjective, call_model
from keras_bert.objectives.vectors import VectorObjective
from keras_bert.options.training import Training
from keras_bert.recipes.train import BatchedRows
from keras_bert.tasks.base import Task
from keras_bert.tasks.embedding import Embedding
from keras_bert.training.trainer import validation_rows

# The number of texts that a matrix is fitted to, and its penalty in units of the vectors' mean square.
_FITTED_TEXTS, _PENALTY = 4096, 1e-2


def objective_for(task: Task, rows: BatchedRows) -> TaskObjective:
    """The objective of a task for its own rows, or for texts, of which an embedding learns the vectors."""
    if rows.task != TEXT:
        return task.objective()
    assert isinstance(task, Embedding)
    has_one = len(task.model.output["embedding"].shape) == 2
    check(type(task).__name__, "data", has_one, "hold second texts, as a text has many vectors", "texts alone")
    return VectorObjective(keeps_lengths=not task.normalize and task.similarity_function != "cosine")


def match_width(student: Task, rows: BatchedRows, training: Training) -> Task:
    """A student whose vectors are as wide as those that a teacher gave to the texts; other rows change nothing.

    Where the widths differ, a matrix maps the student's vectors to the teacher's width. It starts as a ridge regression
    on the first thousands of texts, and stays in the student and in its files: only with it are the student's vectors
    comparable with the teacher's.
    """
    if rows.task != TEXT or not rows.has_answers:
        return student
    assert isinstance(student, Embedding)
    network, count = student.network(), 0
    products: Any = 0.0
    targets: Any = 0.0
    for batch in rows.training_batches(validation_rows(rows.max_length), training.seed).epoch():
        goal = np.asarray(batch[TEACHER_ANSWERS], "float64")
        if goal.shape[1] == network.output.shape[-1]:
            return student
        vectors = np.asarray(call_model(network, batch, False), "float64")
        products, targets, count = products + vectors.T @ vectors, targets + vectors.T @ goal, count + len(goal)
        if count >= _FITTED_TEXTS:
            break
    penalty = _PENALTY * np.trace(products) / len(products)
    return student.projected(np.linalg.solve(products + penalty * np.eye(len(products)), targets).astype("float32"))
