"""Fitting of a task to labelled rows."""

from collections.abc import Sequence
from typing import NamedTuple

from keras_bert.objectives.base import Objective
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.compression import Distillation
from keras_bert.options.fine_tuning import StartHead
from keras_bert.options.training import Training
from keras_bert.recipes.train import Monitor, RowSource, TrainingPhase, train
from keras_bert.tasks.base import Task
from keras_bert.tasks.calibration import Calibration
from keras_bert.training.history import Entry
from keras_bert.training.masks import keep_zeros
from keras_bert.training.new_head import FittedHead, draw_head, fit_head, has_drawn_head
from keras_bert.training.trainer import validation_rows


class HeadStart(NamedTuple):
    """The head that was fitted, if any, and whether the task starts with a head that has learnt nothing."""

    fitted: FittedHead | None
    is_random: bool


def start_new_head(
    task: Task,
    rows: RowSource,
    training: Training,
    how: StartHead = "auto",
    class_weights: Sequence[float] | None = None,
) -> HeadStart:
    """Draws a new head by the seed and starts it, see `keras_bert.training.new_head.fit_head`; a trained head stays."""
    if not has_drawn_head(task):
        return HeadStart(None, is_random=False)
    draw_head(task, training.seed)
    shuffled = rows.training_batches(validation_rows(rows.max_length), training.seed)
    fitted = fit_head(task, shuffled, how, class_weights)
    return HeadStart(fitted, is_random=fitted is None or not fitted.is_kept)


def fit_task(
    task: Task,
    rows: RowSource,
    training: Training,
    monitor: Monitor,
    *,
    is_head_random: bool,
    class_weights: Sequence[float] | None = None,
    distillation: Distillation | None = None,
    keep_best: bool = True,
    patience: int | None = None,
) -> list[Entry]:
    """Trains a task whose head has started, see `HeadStart`; returns the history.

    A pruned encoder keeps its zeros, and the task loses its calibration. With `keep_best` validation rows choose the
    weights, with those from before the training among them unless the head is random. With `distillation` the task
    also learns from the teacher's answers in the rows.
    """
    objective: Objective = task.objective(class_weights)
    if distillation is not None:
        objective = DistillationObjective(task.objective(class_weights), None, distillation)
    network = task.network()
    history = train(
        network,
        [TrainingPhase(objective, training.count_steps(rows.count))],
        rows,
        training,
        monitor,
        select=task.selected_by if keep_best else None,
        patience=patience,
        compare_start=not is_head_random,
        after_step=keep_zeros(network) if task.adapter is None else None,
    )
    task.drawn_weights, task.calibration = {}, Calibration()
    return history
