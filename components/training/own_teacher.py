"""Training on a model that changes, with what it was before as its teacher: what pruning and rounding share."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.training.model_folder import read_model
from components.training.on_rows import train_on_rows
from components.training.tuning import rows_to_finish
from keras_bert.options.distillation import Distillation
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from keras_bert.tasks.base import Task


def read_to_change(model: Model) -> "Task":
    """The task of a model, all of whose weights train: an adapter beside them is part of it from now on."""
    task = read_model(model)
    if task.adapter is not None:
        task.adapter.thaw()
    return task


def train_beside_itself(
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
    """Trains a model on the labels, and to answer as it did before it was changed.

    Call it in the scope of the strategy that the network was built in.

    Args:
        model: as it was.
        task: read from it, and changed.
        network: of the task, see `Task.network`.
        examples: the labelled rows.
        distillation: temperature and weights of the two losses.
        training: how long and how to train.
        variables: see `Trainer`, as is the next one.
        after_step: see there.

    Returns:
        The history.
    """
    from keras_bert.objectives.distillation import DistillationObjective

    return train_on_rows(
        network,
        DistillationObjective(task.objective(), read_model(model).network(), distillation),
        examples,
        training,
        scored_after=rows_to_finish(task, examples),
        variables=variables,
        after_step=after_step,
    )
