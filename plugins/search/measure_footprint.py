"""A teacher and a student's shape -> Latency: the size and the speed of the file, before any training."""

import contextlib
import dataclasses
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts.measurements import FileFootprint, Latency
from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors
from components.dsl.step_folders import report_progress
from components.scoring.latency import measure_file
from components.training.model_folder import read_model
from keras_bert.core.folders import TFLITE_FILE, TFLITE_FLOAT_FILE
from keras_bert.options.compression import Student
from keras_bert.options.quantization import RECIPES, Quantization

if TYPE_CHECKING:
    import keras

    from keras_bert.tasks.base import Task

# The entry of the token table among the figures of a file.
TABLE_ENTRY = "token table"
# Rows for the ranges of activations; size and speed do not depend on these.
_ROWS = 8
_NOISE = 1e-3


@component(
    libraries=("ai-edge-litert", "ai-edge-quantizer", "keras", "tensorflow", "tensorflow-model-optimization"),
    kind="measurement",
)
def measure_footprint(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    latency: Output[Latency],
    lengths: tuple[int, ...],
    timed: tuple[int, ...],
    shape: Student | None = None,
    quantization: Quantization | None = None,
) -> None:
    """Exports a student before its training, with weights of its teacher, and times the file.

    Size and speed do not depend on the weights. The size after deflate depends on their distribution, which a
    distillation hardly changes. A quantized file also has the figures of its token table, of which a smaller vocabulary
    removes rows.

    Milliseconds depend on this machine and its present load: the step runs once, and equal inputs reuse its result.

    `lengths` are those of the file's signatures, `timed` the tokens of the full rows that it is timed with. Without a
    shape the teacher itself is measured, without a quantization a float file. A teacher of several tasks has one file,
    which is timed as it answers all of them; `examples` are the rows of any of its tasks.
    """
    import keras

    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.export.quantized import export_quantized
    from keras_bert.models.encoder import input_names

    keras.utils.set_random_seed(0)
    report_progress(0, 2, "building")
    task = read_model(teacher)
    with input_errors("student: "):
        task = task if shape is None else _cut_student(task, shape)
    # A task of several tells the layers of its heads apart, and writes a file with the signatures of each.
    joint: Any = task if task.has_parts else None
    network, rows = task.network(), None
    _add_noise(network)
    if quantization is not None:
        quantization = dataclasses.replace(quantization, calibration_batches=1)
        batch = next(iter(RecordRows(examples.path).training_batches(_ROWS, seed=0).first(1)))
        rows = {name: batch[name].numpy() for name in input_names(network)}
        float_layers = (*quantization.float_layers, *task.float_layers)
        with contextlib.nullcontext() if joint is None else joint.named_apart():
            with input_errors(f"quantization, recipe {quantization.recipe}: "):
                aware = QuantizationAware(network, [rows], quantization.recipe, float_layers)
            ranges = aware.finish()
        task.quantization = QuantizationParameters(quantization.recipe, ranges, float_layers)

    def write(file: Path) -> None:
        if joint is None:
            export_quantized(network, file, lengths, task.quantization, rows, output=task.output_name)
        else:
            joint.write_tflite(file, lengths, rows)

    report_progress(1, 2, "writing and timing")
    figures = FileFootprint(**measure_file(task, timed, write))
    name = TFLITE_FLOAT_FILE if quantization is None else TFLITE_FILE
    table = {} if quantization is None else {TABLE_ENTRY: _deflate_table(network, quantization)}
    latency.write({name: figures, **table})
    latency.counts = {name: figures.bytes}


def _cut_student(teacher: "Task", shape: Student) -> "Task":
    """A student with weights of its teacher; which heads and units it keeps does not matter for its file."""
    import numpy as np

    from keras_bert.compress.students import Importance, initialize_from_teacher, spread_layers
    from keras_bert.models.encoder import config_of
    from keras_bert.recipes.students import build_student

    student, small = build_student(teacher, shape)
    config = config_of(teacher.model)
    same = (small.num_heads, small.intermediate_size) == (config.num_heads, config.intermediate_size)
    parts = Importance(np.zeros(config.num_heads), np.zeros(config.intermediate_size))
    layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
    importance = None if same else [parts] * config.num_layers
    initialize_from_teacher(student.network(), teacher.network(), layers, importance=importance)
    return student


def _deflate_table(network: "keras.Model", quantization: Quantization) -> FileFootprint:
    """The sizes of the token table in a file."""
    import numpy as np

    from keras_bert.compress.ranges import sublayers
    from keras_bert.layers.embeddings import TokenEmbedding

    (layer,) = sublayers(network, TokenEmbedding).values()
    values = np.asarray(layer.embeddings)
    # The place of a value among all that occur is like its integer in the file.
    is_integer = RECIPES[quantization.recipe].integers
    table = np.unique(values, return_inverse=True)[1].astype("uint8") if is_integer else values.astype("float16")
    return FileFootprint(table.nbytes, len(zlib.compress(table.tobytes())), {})


def _add_noise(network: "keras.Model") -> None:
    """Adds noise to all weights: a file holds equal tensors only once, and all biases are equal before a training."""
    import numpy as np

    chance = np.random.default_rng(0)
    for weight in network.weights:
        values = np.asarray(weight)
        if values.dtype.kind == "f":
            weight.assign(values + chance.normal(0.0, _NOISE, values.shape).astype(values.dtype))
