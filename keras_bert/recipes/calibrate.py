"""Thresholds and temperatures, which are chosen on rows that a task was not trained on."""

from typing import Any

from keras_bert.compress.quantization_parameters import quantized_activations
from keras_bert.tasks.base import Task


def tune_task(task: Task, *columns: Any) -> None:
    """Chooses the settings of a trained task by `Task.tune`, with the activations that its file has."""
    if task.quantization is None:
        task.tune(*columns)
        return
    with quantized_activations(task.network(), task.quantization):
        task.tune(*columns)
