"""A teacher and a student's shape -> Latency: the size and the speed of a file that nobody has trained."""

import dataclasses
import json
from typing import TYPE_CHECKING

from components.artifacts.latency import LATENCY_FILE, Latency
from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.scoring.weighing import weigh_file
from components.training.model_folder import read_model
from components.training.on_rows import training_rows
from components.training.students import build_student
from keras_bert.folders import TFLITE_FILE, TFLITE_FLOAT_FILE
from keras_bert.options.quantization import Quantization
from keras_bert.options.student import Student
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras

# Rows that show the ranges of activations: which ranges, no file's size or speed asks.
_ROWS = Training(batch_size=8)
_NOISE = 0.02


@component(
    libraries=("ai-edge-litert", "ai-edge-quantizer", "keras", "tensorflow", "tensorflow-model-optimization"),
    alone=True,
)
def weigh(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    latency: Output[Latency],
    lengths: tuple[int, ...],
    timed: tuple[int, ...],
    shape: Student | None = None,
    quantization: Quantization | None = None,
) -> None:
    """Exports a student of random weights, and times its file: neither depends on what the weights are.

    Milliseconds hold for this machine in the state that it is in: they are taken once, and found again by whoever asks
    with the same inputs.

    Args:
        teacher: of any task.
        examples: training rows of it.
        latency: of one file, `model.tflite`, or `model_float32.tflite` where nothing is rounded.
        lengths: of the file's signatures.
        timed: tokens of the full rows that it is timed with.
        shape: how the student differs; None for the teacher itself.
        quantization: how it is rounded; None for not at all.

    Raises:
        InputError: the shape is none, or the recipe does not go with it.
    """
    import keras

    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.compress.rounding import Rounding
    from keras_bert.models.encoder import input_names

    keras.utils.set_random_seed(0)
    report_progress(0, 2, "building")
    task = read_model(teacher)
    try:
        task = task if shape is None else build_student(task, shape)[0]
    except ValueError as error:
        raise InputError(f"student: {error}") from None
    network, rounding, rows = task.network(), None, None
    _make_unequal(network)
    if quantization is not None:
        quantization = dataclasses.replace(quantization, calibration_batches=1)
        batch = next(iter(training_rows(examples, _ROWS).after(0, stop=1)))
        rows = {name: batch[name].numpy() for name in input_names(network)}
        try:
            aware = QuantizationAware(network, [rows], quantization.recipe, quantization.float_layers)
        except ValueError as error:
            raise InputError(f"quantization, recipe {quantization.recipe}: {error}") from None
        rounding = Rounding(quantization.recipe, aware.finish(), quantization.float_layers)
    report_progress(1, 2, "writing and timing")
    found = weigh_file(task, rounding, lengths, timed, rows)
    name = TFLITE_FLOAT_FILE if rounding is None else TFLITE_FILE
    latency.file(LATENCY_FILE).write_text(json.dumps({name: found}, indent=1) + "\n")
    latency.counts = {name: found["bytes"]}


def _make_unequal(network: "keras.Model") -> None:
    """Moves all weights a little: a file holds tensors that are equal once, as all biases are before a training."""
    import numpy as np

    chance = np.random.default_rng(0)
    for weight in network.weights:
        values = np.asarray(weight)
        if values.dtype.kind == "f":
            weight.assign(values + chance.normal(0.0, _NOISE, values.shape).astype(values.dtype))
