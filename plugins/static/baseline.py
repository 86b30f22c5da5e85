"""The row `static` of the table of models: a linear model of the means of a checkpoint's token vectors."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from components.artifacts.standard import Model, TaskExamples
from components.examples.registry import read_rows
from components.training.model_folder import read_model
from components.training.tuning import HeadSettings, build_task, tune_task

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

_TASKS = ("classification", "multi_label", "regression")
# A head needs 10 rows, see `keras_bert.training.new_head.fit_head`.
_FEWEST_ROWS = 10


def static_baseline(checkpoint: Model, examples: TaskExamples) -> dict[str, "Callable[[], Task]"]:
    """The row by its name; empty for pairs of texts, for fewer than ten rows, and for tasks without a linear head."""
    description = examples.features()
    if description["task"] not in _TASKS or description["counts"]["train"] < _FEWEST_ROWS:
        return {}
    if read_rows(examples, "validation")[0].second_text is not None:
        return {}
    return {"static": lambda: fit_static(checkpoint, examples)}


def fit_static(checkpoint: Model, examples: TaskExamples) -> "Task":
    """The task of the examples on the token vectors of a checkpoint, all with the weight 1, with a fitted head."""
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.training.new_head import fit_head
    from keras_bert.training.trainer import validation_rows
    from plugins.static.models import build_static

    initial, rows = read_model(checkpoint), RecordRows(examples.path)
    table = np.asarray(initial.encoder.get_layer("token_embedding").matrix())
    static = build_static(table, initial.tokenizer)
    task = build_task(static, examples.features(), HeadSettings("mean"))
    fit_head(task, rows.training_batches(validation_rows(rows.max_length), 0), "fitted")
    tune_task(task, examples)
    return task
