"""A model becomes files, and each tells how it was made."""

import importlib.metadata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts.edge_model import EdgeModel
from components.dsl.workplace import report_progress
from keras_bert.folders import (
    MEDIAPIPE_FILE,
    ONNX_FILE,
    TEXT_FILE,
    TFLITE_FILE,
    TFLITE_FLOAT_FILE,
    WEB_FILES,
    WEB_FOLDER,
    WEB_HALF_FILE,
    WEB_INT8_FILE,
    WEB_STATIC_FILE,
)
from keras_bert.options.export import Export
from keras_bert.options.quantization import RECIPES

if TYPE_CHECKING:
    from keras_bert.compress.rounding import Rounding
    from keras_bert.tasks.base import Features, Task

# Recipe -> what was done.
_INT8 = "int8, symmetric, one scale a unit; token table int8, one scale"
_INT4 = "int4, symmetric, one scale {}; token table int8, one scale"
_DYNAMIC = "int8 in products with weights, ranges found row by row; float between them"
_ROUNDED = {
    "mixed_wi8_ai8": {
        "weights": _INT8,
        "activations": "int8 around products with weights, ranges learned in training; float between them",
    },
    "dynamic_wi8": {"weights": _INT8, "activations": _DYNAMIC},
    "static_wi8_ai8": {"weights": _INT8, "activations": "int8, ranges of training rows"},
    "weights_wi4": {"weights": _INT4.format("a unit"), "activations": _DYNAMIC},
    "weights_wi4_block32": {"weights": _INT4.format("for 32 inputs of a unit"), "activations": _DYNAMIC},
    "float16": {"weights": "float16", "activations": "float32"},
}
_FLOAT = {"weights": "float32"}
_WEB: dict[str, dict[str, str]] = {
    **dict.fromkeys(WEB_FILES, _FLOAT),
    WEB_HALF_FILE: _ROUNDED["float16"],
    WEB_INT8_FILE: {
        "weights": "int8, symmetric, seven bits, one scale a unit; token table uint8, one scale",
        "activations": _DYNAMIC,
    },
    WEB_STATIC_FILE: {
        "weights": "int8, symmetric, one scale a unit; token table uint8, one scale",
        "activations": _ROUNDED["mixed_wi8_ai8"]["activations"],
    },
}
# What writes a file, whose versions are told in it.
_TFLITE_WRITERS = ("keras", "tensorflow", "ai-edge-quantizer")
_ONNX_WRITERS = ("keras", "tensorflow", "tf2onnx", "onnx")
_WEB_WRITERS = (*_ONNX_WRITERS, "onnxruntime")


def write_files(
    task: "Task",
    rounding: "Rounding | None",
    edge: EdgeModel,
    export: Export,
    read_rows: "Callable[[], Features]",
) -> dict[str, dict[str, Any]]:
    """Writes all files.

    Args:
        task: of a Keras model.
        rounding: the recipe and the ranges; None for a model that was not rounded.
        edge: where to.
        export: which files.
        read_rows: gives training rows, where a recipe has no ranges without them.

    Returns:
        File -> how it was made, as plain values.
    """
    network, lengths = task.network(), export.choose_lengths(task.max_length)
    recipe: dict[str, dict[str, Any]] = {}

    def tell(name: str) -> Path:
        # Written and compared: each file is worth two of these.
        report_progress(len(recipe), 2 * total, f"writing {name}")
        return edge.file(name)

    total = len(export.runtimes) + ("tflite" in export.runtimes and rounding is not None)
    ranges = None if rounding is None else rounding.ranges
    web_files = [name for name in WEB_FILES if ranges or name != WEB_STATIC_FILE]
    total += (len(web_files) - 1) * ("transformers_js" in export.runtimes)
    rows = None if rounding is None or RECIPES[rounding.recipe].activations != "all" else read_rows()
    rounded = _FLOAT if rounding is None else {"recipe": rounding.recipe, **_ROUNDED[rounding.recipe]}
    if "tflite" in export.runtimes:
        from keras_bert.export.quantized import export_quantized
        from keras_bert.export.tflite import export_tflite

        if rounding is not None:
            export_quantized(network, tell(TFLITE_FILE), lengths, rounding, rows, output=task.output_name)
            recipe[TFLITE_FILE] = {**rounded, "lengths": lengths, "libraries": _versions(_TFLITE_WRITERS)}
        export_tflite(network, tell(TFLITE_FLOAT_FILE), lengths, output=task.output_name)
        recipe[TFLITE_FLOAT_FILE] = {**_FLOAT, "lengths": lengths, "libraries": _versions(_TFLITE_WRITERS)}
    if "onnx" in export.runtimes:
        from keras_bert.export.onnx import export_onnx

        export_onnx(network, tell(ONNX_FILE), output=task.output_name, opset=export.opset)
        recipe[ONNX_FILE] = {**_FLOAT, "opset": export.opset, "lengths": [task.max_length]}
        recipe[ONNX_FILE]["libraries"] = _versions(_ONNX_WRITERS)
    if "mediapipe" in export.runtimes:
        from keras_bert.export.mediapipe import export_mediapipe

        export_mediapipe(task, tell(MEDIAPIPE_FILE), rounding, rows)
        longest = [task.max_length]
        recipe[MEDIAPIPE_FILE] = {**rounded, "lengths": longest, "libraries": _versions(_TFLITE_WRITERS)}
    if "tflite_text" in export.runtimes:
        from keras_bert.export.text import export_text

        export_text(task, tell(TEXT_FILE), rounding)
        longest = [task.max_length]
        recipe[TEXT_FILE] = {
            **rounded,
            "lengths": longest,
            "libraries": _versions((*_TFLITE_WRITERS, "tensorflow-text")),
        }
    if "transformers_js" in export.runtimes:
        from keras_bert.export.transformers_js import export_transformers_js

        report_progress(len(recipe), 2 * total, f"writing {WEB_FOLDER}")
        export_transformers_js(task, edge.path, export.opset, ranges)
        made = {"opset": export.opset, "lengths": [task.max_length], "libraries": _versions(_WEB_WRITERS)}
        recipe |= {name: {**_WEB[name], **made} for name in web_files}
    return recipe


def _versions(libraries: Sequence[str]) -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in libraries}
