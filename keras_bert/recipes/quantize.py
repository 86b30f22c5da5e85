"""Quantization of a task: quantization-aware or post-training."""

import keras

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.models.encoder import input_names
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.tables import QuantizationSettings
from keras_bert.recipes.texts import objective_for
from keras_bert.recipes.train import BatchedRows, Monitor, train
from keras_bert.tasks.base import Task
from keras_bert.tasks.calibration import Calibration
from keras_bert.training.history import Entry
from keras_bert.training.masks import keep_zeros


def start_quantization(task: Task, rows: BatchedRows, settings: QuantizationSettings) -> QuantizationAware:
    """Rounds the weights and activations of a task from now on, with the ranges of its first training rows.

    All weights of an adapter train. Raises ValueError if the recipe does not fit the model.
    """
    if task.adapter is not None:
        task.adapter.thaw()
    network = task.network()
    batches = rows.training_batches(settings.micro_batch_size, settings.seed).first(settings.calibration_batches)
    inputs = [{name: batch[name] for name in input_names(network)} for batch in batches]
    return QuantizationAware(network, inputs, settings.recipe, (*settings.float_layers, *task.float_layers))


def quantize_task(
    task: Task,
    aware: QuantizationAware,
    float_network: keras.Model,
    rows: BatchedRows,
    settings: QuantizationSettings,
    monitor: Monitor,
) -> list[Entry]:
    """Trains a task that `start_quantization` rounds on labels and the answers of its float copy; ends the rounding.

    Zeros of a pruned model stay zero. The task then has rounded weights, the ranges of the activations as its
    `quantization`, and no calibration. Post-training, the ranges are those of `start_quantization`.
    """
    history: list[Entry] = [{"step": 0}]
    space = task.space
    try:
        if not settings.post_training:
            network, variables = task.network(), aware.variables()
            objective = DistillationObjective(objective_for(task, rows), float_network, settings)
            phases, after_step = [(objective, settings.count_steps(rows.count))], keep_zeros(network)
            history = train(task, network, phases, rows, settings, monitor, variables=variables, after_step=after_step)
    finally:
        # The model outlives an error, and Ctrl-C in a notebook.
        ranges = aware.finish()
    float_layers = (*settings.float_layers, *task.float_layers)
    task.quantization = QuantizationParameters(settings.recipe, ranges, float_layers)
    task.calibration, task.space = Calibration(), space
    return history
