"""Magnitude pruning of a task."""

import keras

from keras_bert.compress.prune import MagnitudePruning
from keras_bert.core.checks import check
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.tables import PruningSettings
from keras_bert.recipes.texts import objective_for
from keras_bert.recipes.train import BatchedRows, Monitor, train
from keras_bert.tasks.base import Task
from keras_bert.training.history import Entry


def prune_task(
    task: Task, dense: keras.Model, rows: BatchedRows, settings: PruningSettings, monitor: Monitor
) -> tuple[list[Entry], float]:
    """Sets more and more of a task's smallest weights to zero while it learns from labels and from its dense copy.

    Returns the history, and the share of the kernels' weights that are zero. All weights of an adapter train.
    """
    if task.adapter is not None:
        task.adapter.thaw()
    network, steps, space = task.network(), settings.count_steps(rows.count), task.space
    masks = MagnitudePruning(network, settings, steps)
    check("prune", "model", bool(masks.kernels), "have dense layers, whose weights pruning sets to zero", network.name)
    phases = [(DistillationObjective(objective_for(task, rows), dense, settings), steps)]
    variables, after_step = masks.variables(), masks.after_step
    history = train(task, network, phases, rows, settings, monitor, variables=variables, after_step=after_step)
    # A running mean of the weights holds values from before the last masks.
    masks.after_step(steps + 1)
    task.space = space
    return history, masks.sparsity()
