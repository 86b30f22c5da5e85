"""Fitting of a task to labelled rows."""

import contextlib
from collections.abc import Sequence
from typing import Any

from keras_bert.compress.quantization_parameters import quantized_activations
from keras_bert.objectives.base import Objective
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.compression import Distillation
from keras_bert.options.tables import FineTuningSettings
from keras_bert.recipes.train import BatchedRows, Monitor, train
from keras_bert.tasks.base import Task
from keras_bert.training.history import Entry
from keras_bert.training.masks import keep_zeros
from keras_bert.training.new_head import FittedHead, check_start, draw_head, fit_head, has_drawn_head
from keras_bert.training.trainer import validation_rows


def start_new_head(
    task: Task, rows: BatchedRows, settings: FineTuningSettings, class_weights: Sequence[float] | None = None
) -> FittedHead | None:
    """Draws a new head by the seed and starts it, see `keras_bert.training.new_head.fit_head`; a trained head stays.

    Raises ValueError for `fitted` where the task has no linear head, or too few rows.
    """
    check_start(type(task), settings.start_head)
    if not has_drawn_head(task):
        task.drawn_weights = {}
        return None
    draw_head(task, settings.seed)
    shuffled = rows.training_batches(validation_rows(rows.max_length), settings.seed)
    return fit_head(task, shuffled, settings.start_head, class_weights)


def fit_task(
    task: Task,
    head: FittedHead | None,
    rows: BatchedRows,
    settings: FineTuningSettings,
    monitor: Monitor,
    *,
    class_weights: Sequence[float] | None = None,
    distillation: Distillation | None = None,
) -> list[Entry]:
    """Trains a task with a head of `start_new_head`; returns the history.

    A pruned encoder keeps its zeros. If validation rows choose the weights, those from before the training are among
    them, unless the head is random. With `distillation` the task also learns from the teacher's answers in the rows.
    """
    objective: Objective = task.objective(class_weights)
    if distillation is not None:
        objective = DistillationObjective(task.objective(class_weights), None, distillation)
    network, is_random = task.network(), bool(task.drawn_weights) and not (head is not None and head.is_kept)
    history = train(
        task,
        network,
        [(objective, settings.count_steps(rows.count))],
        rows,
        settings,
        monitor,
        select=task.selected_by if settings.keep == "best" else (),
        patience=settings.patience,
        compare_start=not is_random,
        after_step=keep_zeros(network) if task.adapter is None else None,
    )
    task.drawn_weights = {}
    return history


def tune_task(task: Task, *columns: Any) -> None:
    """Chooses the settings of a trained task by `Task.tune`, with the activations that its file has."""
    quantization = task.quantization
    is_float = quantization is None
    with contextlib.nullcontext() if is_float else quantized_activations(task.network(), quantization):
        task.tune(*columns)
