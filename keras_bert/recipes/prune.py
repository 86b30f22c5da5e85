"""Magnitude pruning of a task."""

import keras

from keras_bert.compress.prune import MagnitudePruning
from keras_bert.options.compression import Distillation, Pruning
from keras_bert.options.training import Training
from keras_bert.recipes.self_distillation import self_distill
from keras_bert.recipes.train import Monitor, RowSource
from keras_bert.tasks.base import Task
from keras_bert.training.history import Entry


def prune_task(
    task: Task,
    teacher: keras.Model,
    rows: RowSource,
    pruning: Pruning,
    distillation: Distillation,
    training: Training,
    monitor: Monitor,
) -> tuple[list[Entry], float]:
    """Sets more and more of a task's smallest weights to zero while it trains on the labels and a teacher's answers.

    Args:
        task: the task, which is changed in place; all weights of an adapter train.
        teacher: a copy of the task's network before.
        rows: the rows to train on.
        pruning: the share and the pattern of the zeros.
        distillation: the temperature, and the share of the labels in the loss.
        training: how long and how to train.
        monitor: shows the training.

    Returns:
        The history, and the share of the kernels' weights that are zero.
    """
    if task.adapter is not None:
        task.adapter.thaw()
    steps = training.count_steps(rows.count)
    masks = MagnitudePruning(task.network(), pruning, steps)
    changes = masks.variables(), masks.after_step
    history = self_distill(task, teacher, rows, training, monitor, distillation, *changes)
    # A running mean of the weights holds values from before the last masks.
    masks.after_step(steps + 1)
    return history, masks.sparsity()
