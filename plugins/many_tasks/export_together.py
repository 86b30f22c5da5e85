"""Export of a model of several tasks: one file for each runtime."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.export_model import LIBRARIES, are_pairs, read_features
from keras_bert.core.folders import EXPORT_FILE
from keras_bert.options.export import Export

if TYPE_CHECKING:
    from keras_bert.tasks.base import Features


@component(libraries=LIBRARIES)
def export_together(
    model: Input[Model],
    examples: Input[list[TaskExamples]],
    edge: Output[EdgeModel],
    names: tuple[str, ...],
    export: Export = Export(),
    rows: int = 500,
) -> None:
    """Writes one file with all tasks for each runtime, and compares each task with its model on validation rows.

    Raises:
        ParityError: the answers of a file differ from those of the model.
    """
    from keras_bert.clients.golden import make_golden_rows, write_golden
    from keras_bert.compress.quantization_parameters import read_quantization
    from keras_bert.export.files import LITERT, LITERT_FLOAT, ONNX
    from keras_bert.export.inputs import ComparisonRows, ExportInputs, needs_calibration_rows
    from keras_bert.export.targets.registry import TARGETS
    from plugins.many_tasks.files import MINIMUM_AGREEMENT, write_file
    from plugins.many_tasks.steps import read_many

    many, sources = read_many(model), dict(zip(names, examples, strict=True))
    many.quantization = quantization = read_quantization(model.path)
    calibrates = quantization is not None and needs_calibration_rows(quantization.recipe)
    ranged = [read_features(source, "train", rows) for source in examples] if calibrates else []
    # The files of these runtimes are compared on ids, not on texts.
    samples = {
        name: ComparisonRows(read_features(source, "validation", rows), list, MINIMUM_AGREEMENT)
        for name, source in sources.items()
    }
    for name, task in many.tasks.items():
        task.pairs = are_pairs(task, samples[name].features)
    many.save_settings(edge.path)
    files = {"tflite": LITERT_FLOAT if quantization is None else LITERT, "onnx": ONNX}
    inputs, records = ExportInputs(many, quantization, export, edge.path), {}
    for target in export.runtimes:
        file = files[target]
        measured = write_file(many, file, edge.path, export, _stack(ranged), samples)
        records[file.name] = {**TARGETS[target].describe(inputs, file), **measured}
    golden = [{"task": name, **row} for name in many.tasks for row in make_golden_rows(edge.path, name)]
    write_golden(edge.path, golden)
    edge.file(EXPORT_FILE).write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")
    edge.counts = {name: record["bytes"] for name, record in records.items()}


def _stack(parts: "Sequence[Features]") -> "Features | None":
    """Rows of several tasks as one batch of inputs (rows, longest); None for no rows."""
    width = max((part["token_ids"].shape[1] for part in parts), default=0)
    padded = [
        {name: np.pad(values, ((0, 0), (0, width - values.shape[1]))) for name, values in part.items()}
        for part in parts
    ]
    return {name: np.concatenate([part[name] for part in padded]) for name in padded[0]} if padded else None
