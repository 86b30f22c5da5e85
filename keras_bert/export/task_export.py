"""Exports a task as one file that `keras_bert.load` reads, checked against its model."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

from keras_bert.core.checks import check
from keras_bert.core.folders import SAVED_MODEL_FILE, TFLITE_FLOAT_FILE, staged_files, temporary_folder
from keras_bert.export.bundle import attach_companions, load_exported
from keras_bert.export.comparison import compare_answers
from keras_bert.export.files import LITERT, LITERT_FLOAT, ONNX
from keras_bert.export.inputs import ComparisonRows, ExportInputs, needs_calibration_rows
from keras_bert.export.sample_texts import SECONDS, TEXTS
from keras_bert.export.tflite import export_tflite
from keras_bert.options.export import Export
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import as_texts, check_keras

# The mean agreement of an int8 file with its model as quantized in Keras.
_MINIMUM_AGREEMENT = 0.95


def export_task(
    task: Task,
    path: str | os.PathLike[str],
    texts: Sequence[str] = (),
    pairs: Sequence[str] | None = None,
    *,
    lengths: Sequence[int] = Export().lengths,
    opset: int = Export().opset,
) -> None:
    """Writes a task as one file with its tokenizer and settings; `keras_bert.load(path).predict` answers with it.

    A path to a `saved_model.pb` makes its folder a SavedModel for TensorFlow Serving.

    A `.tflite` file of a task that `keras_bert.quantize` quantized holds integers; other files are float32. The answers
    of the file are compared with those of the model before it takes the place of an earlier file.

    Args:
        task: a task with a Keras model.
        path: the file to write, `.tflite`, `.onnx` or `saved_model.pb`.
        texts: varied texts that measure the ranges of activations; needed by recipes that quantize all of them. They
            get the prompt of queries where the task has one.
        pairs: the second text of each, where the task takes one.
        lengths: tokens of the signatures of a `.tflite` file, see `Export`.
        opset: the version of ONNX' operator set.

    Raises:
        ParityError: the file answers otherwise than its model.
        ValueError: the name ends otherwise, the recipe needs texts, or the model is an exported file.

    Examples:
        >>> export_task(task, "sentiment.tflite")
        >>> keras_bert.load("sentiment.tflite").labels
        ('no', 'yes')
    """
    path, texts = Path(path), task.explained_texts(as_texts("texts", texts, at_least=0))
    check_keras(task, "exported")
    check("export", "task", not task.has_parts, "be exported by its own method, as many.export(FILE)", task.name)
    fits = path.suffix in (".tflite", ".onnx") or path.name == SAVED_MODEL_FILE
    check("export", "path", fits, f"end with .tflite, .onnx or {SAVED_MODEL_FILE}", str(path))
    is_lite, quantization = path.suffix == ".tflite", task.quantization
    recipe = quantization.recipe if quantization is not None and is_lite else None
    rule = f"hold texts that measure the ranges of activations for the recipe {recipe}"
    check("export", "texts", bool(texts) or not needs_calibration_rows(recipe), rule, texts)
    check("export", "task", task.name != "pretraining", "be fine-tuned to be exported", task.name)
    with staged_files(path.parent) as staging, task._answering():
        options = Export(lengths=tuple(lengths), opset=opset)
        rows = task.encode(texts, pairs) if texts else None
        source = ExportInputs(task, quantization, options, staging, rows)
        network, file = task.network(), staging / path.name
        if is_lite:
            from keras_bert.export.quantized import export_quantized

            signatures = options.choose_lengths(task.max_length)
            export_quantized(network, file, signatures, quantization, rows, output=task.output_name)
        elif path.name == SAVED_MODEL_FILE:
            from keras_bert.export.saved_model import export_saved_model

            export_saved_model(task, staging)
        else:
            from keras_bert.export.onnx import export_onnx

            export_onnx(network, file, output=task.output_name, opset=opset)
        kind = ONNX if not is_lite else LITERT_FLOAT if quantization is None else LITERT  # SavedModels are as ONNX is
        sample = texts or list(TEXTS)
        features = rows or task.encode(sample, SECONDS if task.second_text == "required" else None)
        exported = dataclasses.replace(kind, name=path.name)
        compare_answers(source, exported, ComparisonRows(features, lambda: sample, _MINIMUM_AGREEMENT))
        attach_companions(task, file)


def compile_task(task: Task, *, num_threads: int = 1) -> Task:
    """Compiles a Keras task for LiteRT, in float32: single short texts are answered in less time (docs/speed.md).

    The outputs are the same up to 1e-5. The compiled task has the weights, the adapter and the calibration of this
    moment: it does not change with the task, and it cannot be trained. It takes one row after another, and tokenizes
    without TensorFlow.

    Args:
        task: a task with a Keras model.
        num_threads: threads of one answer.

    Raises:
        ValueError: the model is an exported file.

    Examples:
        >>> compiled = compile_task(task)
        >>> texts = ["what a film", "bad"]
        >>> [answer.label for answer in compiled.predict(texts)] == [answer.label for answer in task.predict(texts)]
        True
    """
    check_keras(task, "compiled")
    check("compile", "task", not task.has_parts, "be one task: compile each of its tasks", task.name)
    with temporary_folder() as folder, task._answering():
        file = Path(folder) / TFLITE_FLOAT_FILE
        export_tflite(task.network(), file, Export().choose_lengths(task.max_length), output=task.output_name)
        attach_companions(task, file)
        # The runtime has mapped the file, which may then be removed.
        return load_exported(file, num_threads=num_threads)
