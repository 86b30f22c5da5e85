"""Self-distillation: a model that is pruned or quantized trains with its former self as the teacher."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from components.artifacts.standard import Model, TaskExamples
from components.training.model_folder import read_model
from components.training.on_rows import train_on_rows
from components.training.tuning import count_tuning_rows
from keras_bert.options.compression import Distillation
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from keras_bert.tasks.base import Task


def read_trainable_task(model: Model) -> "Task":
    """The task of a model with all weights trainable, including the weights of an adapter."""
    task = read_model(model)
    if task.adapter is not None:
        task.adapter.thaw()
    return task


def self_distill(
    model: Model,
    task: "Task",
    network: "keras.Model",
    examples: TaskExamples,
    distillation: Distillation,
    training: Training,
    *,
    variables: "Sequence[tf.Variable]",
    after_step: Callable[[int], None] | None,
) -> list[dict[str, float]]:
    """Trains a changed model on the labels, and on the answers of the model before the change.

    Returns the history. Must be called in the scope of the strategy that the network was built in.

    `model` is the model before the change; `task` was read from it and changed. See `Trainer` for `variables` and
    `after_step`.
    """
    from keras_bert.objectives.distillation import DistillationObjective

    return train_on_rows(
        network,
        DistillationObjective(task.objective(), read_model(model).network(), distillation),
        examples,
        training,
        scored_after=count_tuning_rows(task, examples),
        variables=variables,
        after_step=after_step,
    )
