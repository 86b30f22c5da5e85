"""Export: a quantized student becomes files for other runtimes, each proven in the runtime it is for."""

import json
import shutil
from typing import TYPE_CHECKING, Any

from components.artifacts.edge_model import EdgeModel
from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.training.model_folder import copy_tokenizer, read_model
from keras_bert.config import check

if TYPE_CHECKING:
    import keras
    import numpy as np

    Array = np.ndarray[Any, Any]
    Features = dict[str, Array]

LIBRARIES = ("ai-edge-litert", "keras", "onnx", "onnxruntime", "tensorflow", "tf2onnx")


@component(libraries=LIBRARIES)
def export_model(
    student: Input[Model],
    examples: Input[TaskExamples],
    edge: Output[EdgeModel],
    lengths: tuple[int, ...] = (32, 64, 128),
    rows: int = 500,
    int8_agreement: float = 0.98,
) -> None:
    """Writes `model.tflite` (int8), `model_float32.tflite` and `model.onnx`, and compares them with the model.

    Args:
        student: a classifier with `quantization.json`, the ranges of its activations.
        examples: the first validation rows are what is compared.
        edge: the files, vocabulary, `labels.json`, and `recipe.json`: what was done and measured.
        lengths: tokens of the signatures; the task's longest input is added, what is longer left out.
        rows: how many rows to compare.
        int8_agreement: share of the rows for which the int8 file must choose the label that the model
            chooses when its activations are rounded in Keras. Both round alike but for the order of their
            sums, so that only rows near a tie may differ.

    Raises:
        ParityError: a file does not say what the model says.
        FileNotFoundError: the student was not trained for quantization.
    """
    check("export_model", "rows", rows >= 1, "be at least 1", rows)
    check("export_model", "int8_agreement", 0 < int8_agreement <= 1, "be above 0 and at most 1", int8_agreement)
    from keras_bert.compress.ranges import load_ranges
    from keras_bert.export.onnx import OPSET, export_onnx
    from keras_bert.export.tflite import export_tflite

    ranges = load_ranges(student.path)
    network, task = read_model(student)
    chosen = choose_lengths(lengths, task["max_length"])
    report_progress(0, 4, "writing")
    export_tflite(network, edge.file("model.tflite"), chosen, ranges)
    export_tflite(network, edge.file("model_float32.tflite"), chosen)
    export_onnx(network, edge.file("model.onnx"))
    copy_tokenizer(student, edge.path)
    shutil.copyfile(examples.file("labels.json"), edge.file("labels.json"))
    parity = _compare(network, ranges, _read_rows(examples, rows), edge, int8_agreement)
    recipe: dict[str, dict[str, Any]] = {
        "model.tflite": {
            "weights": "int8, symmetric, one scale a column; token table int8, one scale",
            "activations": "int8 around products with weights, ranges learned in training; float between them",
            "lengths": chosen,
        },
        "model_float32.tflite": {"weights": "float32", "lengths": chosen},
        "model.onnx": {"weights": "float32", "opset": OPSET},
    }
    for name, measured in parity.items():
        recipe[name] |= measured
    edge.file("recipe.json").write_text(json.dumps(recipe, indent=1, sort_keys=True) + "\n")
    edge.counts = {name: entry["bytes"] for name, entry in parity.items()}


def choose_lengths(lengths: tuple[int, ...], max_length: int) -> list[int]:
    """The lengths below the task's longest input, and that one: no row is too long, no signature useless."""
    return sorted({length for length in lengths if length < max_length} | {max_length})


def _read_rows(examples: TaskExamples, rows: int) -> "Features":
    """The first validation rows as model inputs (rows, longest)."""
    from keras_bert.data.examples import task_batches
    from keras_bert.models.encoder import INPUT_NAMES

    batch = next(iter(task_batches(examples.path, "validation", rows).epoch()))
    return {name: batch[name].numpy() for name in INPUT_NAMES}


def _compare(
    network: "keras.Model",
    ranges: dict[str, tuple[float, float]],
    features: "Features",
    edge: EdgeModel,
    int8_agreement: float,
) -> dict[str, dict[str, Any]]:
    """File -> what was measured of it.

    Raises:
        ParityError: a file does not say what the model says.
    """
    import numpy as np

    from keras_bert.compress.ranges import fixed_ranges
    from keras_bert.export.check import FLOAT32_TOLERANCE, check_agreement, check_parity, lint_tflite
    from keras_bert.export.runtimes import OnnxClassifier, TFLiteClassifier

    reference = network.predict(features, verbose=0)
    with fixed_ranges(network, ranges):
        rounded = network.predict(features, verbose=0)
    measured: dict[str, dict[str, Any]] = {}
    files: dict[str, Any] = {"model_float32.tflite": TFLiteClassifier, "model.onnx": OnnxClassifier}
    for number, (name, runtime) in enumerate(files.items()):
        report_progress(number + 1, 4, f"comparing {name}")
        difference = check_parity(name, reference, runtime(edge.file(name))(**features), FLOAT32_TOLERANCE)
        measured[name] = {"largest_difference": float(f"{difference:.1e}")}
    report_progress(3, 4, "comparing model.tflite")
    answers = TFLiteClassifier(edge.file("model.tflite"))(**features)
    measured["model.tflite"] = {
        "agreement_with_rounded_model": check_agreement("model.tflite", rounded, answers, int8_agreement),
        "agreement_with_float_model": float(np.mean(reference.argmax(1) == answers.argmax(1))),
    }
    for name, entry in measured.items():
        entry |= {"bytes": edge.file(name).stat().st_size, "rows_compared": len(reference)}
        if name.endswith(".tflite"):
            entry["operations"] = lint_tflite(edge.file(name))
    report_progress(4, 4)
    return measured
