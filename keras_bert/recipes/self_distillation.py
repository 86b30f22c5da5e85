"""Self-distillation: a model that is pruned or quantized learns from labels and from its answers before the change."""

from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.compression import Distillation
from keras_bert.options.training import Training
from keras_bert.recipes.train import Monitor, RowSource, TrainingPhase, train
from keras_bert.tasks.base import Task
from keras_bert.tasks.calibration import Calibration
from keras_bert.training.history import Entry


def self_distill(
    task: Task,
    teacher: keras.Model,
    rows: RowSource,
    training: Training,
    monitor: Monitor,
    distillation: Distillation,
    variables: Sequence[tf.Variable],
    after_step: Callable[[int], None] | None,
) -> list[Entry]:
    """Trains a task whose network is changed, with a copy from before as the teacher; returns the history.

    The task loses its calibration. See `Trainer` for `variables` and `after_step`.
    """
    objective = DistillationObjective(task.objective(), teacher, distillation)
    phase = TrainingPhase(objective, training.count_steps(rows.count))
    network = task.network()
    history = train(network, [phase], rows, training, monitor, variables=variables, after_step=after_step)
    task.calibration = Calibration()
    return history
