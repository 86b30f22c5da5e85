"""One file of several tasks: a signature for each task and one for all, or an output for each."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_bert.core.checks import check
from keras_bert.core.folders import staged_files
from keras_bert.export.bundle import attach_companions
from keras_bert.export.comparison import compare_answers
from keras_bert.export.files import LITERT, LITERT_FLOAT, ONNX, ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs, needs_calibration_rows
from keras_bert.export.onnx import export_onnx
from keras_bert.export.quantized import export_quantized
from keras_bert.export.runtimes import open_file
from keras_bert.export.sample_texts import SECONDS, TEXTS
from keras_bert.options.export import Export
from keras_bert.tasks.base import Features
from keras_bert.tasks.checks import as_texts, check_keras
from plugins.many_tasks.joint import named_apart
from plugins.many_tasks.merging import merge_files
from plugins.many_tasks.outputs import OutputOf, open_part
from plugins.many_tasks.task import ManyTasks, check_recipe

# The mean agreement of an int8 file with its model as quantized in Keras.
MINIMUM_AGREEMENT = 0.95


def export(
    many: ManyTasks,
    path: str | os.PathLike[str],
    texts: Sequence[str] = (),
    *,
    lengths: Sequence[int] = Export().lengths,
    opset: int = Export().opset,
) -> None:
    """Writes all tasks as one file with the weights once, which `keras_bert.load` reads, for all tasks or for one.

    A `.tflite` file has the signatures `serve_32`, `serve_64`, ..., whose outputs are those of all tasks by name, and
    for each task signatures such as `mood_32` with the output that the file of this task alone has. An `.onnx` file
    has an output for each task. The answers of each are compared with those of the task's model.

    Args:
        many: tasks with Keras models.
        path: the file to write, `.tflite` or `.onnx`.
        texts: see `keras_bert.export_task`.
        lengths: see `keras_bert.export_task`.
        opset: see `keras_bert.export_task`.

    Raises:
        ParityError: the file answers otherwise than a model.
        ValueError: the name ends otherwise, the recipe needs texts or cannot hold a regression, or the models are
            exported files.
    """
    path, texts = Path(path), as_texts("texts", texts, at_least=0)
    check_keras(many, "exported")
    check("export", "path", path.suffix in (".tflite", ".onnx"), "end with .tflite or .onnx", str(path))
    quantization = many.quantization if path.suffix == ".tflite" else None
    recipe = None if quantization is None else quantization.recipe
    rule = f"hold texts that measure the ranges of activations for the recipe {recipe}"
    check("export", "texts", bool(texts) or not needs_calibration_rows(recipe), rule, texts)
    check_recipe([type(task) for task in many.tasks.values()], recipe)
    with staged_files(path.parent) as staging:
        kind = ONNX if path.suffix == ".onnx" else LITERT_FLOAT if quantization is None else LITERT
        options = Export(lengths=tuple(lengths), opset=opset)
        rows, sample, samples = many.encode(texts) if texts else None, list(texts) or list(TEXTS), {}
        for name, task in many.tasks.items():
            seconds = SECONDS if task.second_text == "required" and not texts else None
            samples[name] = ComparisonRows(task.encode(sample, seconds), lambda: sample, MINIMUM_AGREEMENT)
        write_file(many, dataclasses.replace(kind, name=path.name), staging, options, rows, samples)


def write_file(
    many: ManyTasks,
    file: ExportedFile,
    folder: Path,
    options: Export,
    rows: Features | None,
    samples: Mapping[str, ComparisonRows],
) -> dict[str, Any]:
    """Writes a file of all tasks, and returns its measurements: the size, and the comparison of each task.

    `rows` measure the ranges of activations, if the recipe needs them; each task is compared on its sample.
    """
    with many._answering():
        if file.name.endswith(".onnx"):
            export_onnx(many.network(), folder / file.name, opset=options.opset)
        else:
            write_tflite(many, folder / file.name, options.choose_lengths(many.max_length), rows)
        compared = _compare(many, file, folder, options, samples)
    attach_companions(many, folder / file.name)
    return {"bytes": (folder / file.name).stat().st_size, "tasks": compared}


def write_tflite(many: ManyTasks, file: Path, lengths: Sequence[int], rows: Features | None) -> None:
    """Writes the network of all tasks and that of each, one after another, and merges the files."""
    contents, joint = {}, many.quantization
    if joint is not None:
        # The exporter also meets heads, whose results stay float, by paths without the name of their task.
        heads = [layer for task in many.tasks.values() for layer in task.float_layers]
        joint = joint._replace(float_layers=(*joint.float_layers, *heads))
    with named_apart(many.model):
        export_quantized(many.network(), file, lengths, joint, rows)
    contents["serve"] = file.read_bytes()
    for name, task in many.tasks.items():
        export_quantized(task.network(), file, lengths, task.quantization, rows, output=task.output_name)
        contents[name] = file.read_bytes()
    file.write_bytes(merge_files(contents))


def _compare(
    many: ManyTasks, file: ExportedFile, folder: Path, options: Export, samples: Mapping[str, ComparisonRows]
) -> dict[str, dict[str, Any]]:
    """Compares the outputs of each task, by its own signature and by that of all, with its model."""
    runtime, compared = open_file(folder / file.name, many.max_length), {}
    for name, task in many.tasks.items():
        quantization, sample = task.quantization if file.numbers == "model" else None, samples[name]
        source = ExportInputs(task, quantization, options, folder, sample.features)
        for part in (open_part(runtime, name, task.output_name), OutputOf(runtime, name, task.output_name)):
            compared[name] = compare_answers(source, file, sample, part)
    return compared
