"""Export: a model becomes files for other runtimes, each proven in the runtime it is for."""

import importlib.metadata
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts.edge_model import EdgeModel
from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.training.model_folder import read_model
from keras_bert.checks import check
from keras_bert.folders import (
    GOLDEN_FILE,
    LABELS_FILE,
    LOGITS,
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
    import numpy as np

    from keras_bert.compress.rounding import Rounding
    from keras_bert.export.rules.expected import Expected
    from keras_bert.tasks.base import Task

    Features = dict[str, np.ndarray[Any, Any]]

LIBRARIES = (
    *("ai-edge-litert", "ai-edge-quantizer", "keras", "onnx", "onnxruntime"),
    *("tensorflow", "tensorflow-text", "tf2onnx"),
)

RECIPE_FILE = "recipe.json"

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


@component(libraries=LIBRARIES)
def export_model(
    model: Input[Model],
    examples: Input[TaskExamples],
    edge: Output[EdgeModel],
    export: Export = Export(),
    rows: int = 500,
    int8_agreement: float = 0.98,
) -> None:
    """Writes a model's files for other runtimes, and compares each with the model.

    `model.onnx` is for ONNX Runtime, `model_mediapipe.tflite` for MediaPipe Tasks, the folder `transformers_js` for
    transformers.js and Optimum, the others are for LiteRT; `model_text.tflite` takes text.
    A model that was rounded gives a `model.tflite` by its recipe; of one that was not there is `model_float32.tflite`
    alone.

    Args:
        model: of any task; with `quantization.json`, its recipe and the activations' ranges, where it was rounded.
        examples: the first validation rows are what is compared; training rows show how far activations reach, where
            files need to know.
        edge: the files, the task's settings, `labels.json` where there are labels, `golden.json` for those who write
            apps, and `recipe.json`: what was done and measured.
        export: which files.
        rows: how many rows to compare.
        int8_agreement: how far, over all rows, the rounded file must give the answers that the model gives when its
            activations are rounded in Keras, see `Task.agreement`. Both round alike but for the order of their sums, so
            that only rows near a tie may differ. Where a tensor's range is wide, as of a feed-forward output that is
            195 in one place and about 1 in all others, its grid is so coarse that a last bit moves the answer as far
            as rounding does; there the file may differ from the rounded model as far as that from the float model.
            Files of integers alone must agree to 95 %, whatever is asked for.

    Raises:
        ParityError: a file does not say what the model says.
        LintError: a file breaks a rule of its kind, see `keras_bert.export.rules`.
    """
    check("export_model", "rows", rows >= 1, "be at least 1", rows)
    check("export_model", "int8_agreement", 0 < int8_agreement <= 1, "be above 0 and at most 1", int8_agreement)
    from keras_bert.clients.golden import golden_rows
    from keras_bert.compress.rounding import find_rounding
    from keras_bert.export.bundle import attach_companions, load_exported
    from keras_bert.export.lint import lint_file

    task, rounding = read_model(model), find_rounding(model.path)
    recipe = _write(task, rounding, edge, export, lambda: _read_rows(examples, "train", rows))
    task.save_settings(edge.path)
    if examples.file(LABELS_FILE).is_file():
        shutil.copyfile(examples.file(LABELS_FILE), edge.file(LABELS_FILE))
    for name, entry in recipe.items():
        # Those of the web have them in their folder, in the form that is read there, and are fetched by every visitor.
        if name not in WEB_FILES:
            attach_companions(task, edge.file(name))
        # That one is of tensorflow-text's operations, too.
        if name not in (TEXT_FILE, *WEB_FILES):
            lint_file(edge.file(name), _expected(task, rounding, edge, entry))
    compared = _read_rows(examples, "validation", rows)
    measured = _compare(task, rounding, compared, edge, list(recipe), int8_agreement)
    golden = golden_rows(load_exported(edge.path))
    edge.file(GOLDEN_FILE).write_text(json.dumps(golden, ensure_ascii=False) + "\n", encoding="utf-8")
    content = {name: {**recipe[name], **measured[name]} for name in recipe}
    edge.file(RECIPE_FILE).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    edge.counts = {name: entry["bytes"] for name, entry in content.items()}


def _write(
    task: "Task",
    rounding: "Rounding | None",
    edge: EdgeModel,
    export: Export,
    read_rows: "Callable[[], Features]",
) -> dict[str, dict[str, Any]]:
    """Writes all files and tells how each was made."""
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
    # Training rows, where a recipe has no ranges without them.
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


def _expected(task: "Task", rounding: "Rounding | None", edge: EdgeModel, entry: "Mapping[str, Any]") -> "Expected":
    """What a file must be: the labels are those of the rows, the rest is the model's."""
    from keras_bert.export.rules.expected import Expected

    labels = edge.file(LABELS_FILE)
    known = tuple(json.loads(labels.read_text(encoding="utf-8"))) if labels.is_file() else ()
    pieces = task.tokenizer.vocabulary_size
    if rounding is None or "recipe" not in entry:
        return Expected(pieces, known)
    return Expected(pieces, known, rounding.recipe, rounding.float_layers)


def _versions(libraries: Sequence[str]) -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in libraries}


def _read_rows(examples: TaskExamples, split: str, rows: int) -> "Features":
    """The first rows of a split as inputs of models (rows, longest)."""
    from keras_bert.data.task_batches import task_batches
    from keras_bert.folders import INPUT_NAMES

    batch = next(iter(task_batches(examples.path, split, rows).epoch()))
    return {name: batch[name].numpy() for name in INPUT_NAMES}


def _compare(
    task: "Task",
    rounding: "Rounding | None",
    features: "Features",
    edge: EdgeModel,
    files: list[str],
    int8_agreement: float,
) -> dict[str, dict[str, Any]]:
    """File -> what was measured of it.

    Raises:
        ParityError: a file does not say what the model says.
    """
    import numpy as np
    from scipy.special import softmax

    from keras_bert.clients.golden import TEXTS
    from keras_bert.compress.rounding import rounded
    from keras_bert.export.check import UNTRAINED_AGREEMENT, check_agreement, check_parity, tolerance_of
    from keras_bert.export.reference import predict_as_padded
    from keras_bert.export.rules.lite_graphs import count_operations
    from keras_bert.export.runtimes import open_file
    from keras_bert.export.text import check_text

    network, mask = task.network(), features["padding_mask"]
    measured: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(files):
        report_progress(len(files) + number, 2 * len(files), f"comparing {name}")
        size = edge.file(name).stat().st_size
        if name == TEXT_FILE:
            # The same numbers as those of the file that is compared, of texts in the place of ids.
            like = edge.file(TFLITE_FLOAT_FILE if rounding is None else TFLITE_FILE)
            difference = check_text(task, edge.file(name), like, TEXTS)
            measured[name] = {"largest_difference": float(f"{difference:.1e}"), "bytes": size}
            continue
        runtime = open_file(edge.file(name), task.max_length)
        lengths = getattr(runtime, "lengths", mask.shape[1:])
        reference = predict_as_padded(network, features, lengths)
        answers = runtime.predict_on_batch(features)
        outputs = next(iter(answers.values())) if isinstance(answers, dict) else answers
        if name == MEDIAPIPE_FILE and task.output_name == LOGITS:
            # What it answers are shares.
            reference, outputs = (
                np.log(np.maximum(shares, 1e-30)) for shares in (softmax(reference, axis=-1), outputs)
            )
        if name in (TFLITE_FILE, MEDIAPIPE_FILE, WEB_STATIC_FILE) and rounding is not None:
            with rounded(network, rounding):
                wanted = predict_as_padded(network, features, lengths)
            kept = float(task.agreement(reference, wanted, mask).mean())
            # Of integers alone the file has grids inside of layers, too, of which Keras has no twin.
            alone = RECIPES[rounding.recipe].activations == "all"
            minimum = min(UNTRAINED_AGREEMENT if alone else int8_agreement, kept)
            agreed = check_agreement(name, task.agreement(wanted, outputs, mask), outputs, minimum)
            own = {
                "agreement_with_rounded_model": agreed,
                "agreement_with_float_model": float(task.agreement(reference, outputs, mask).mean()),
                "agreement_of_rounded_and_float_model": kept,
            }
        elif name == WEB_INT8_FILE:
            # Keras has no twin of its grids.
            agreed = check_agreement(name, task.agreement(reference, outputs, mask), outputs, UNTRAINED_AGREEMENT)
            own = {"agreement_with_float_model": agreed}
        else:
            tolerance = tolerance_of(reference, mask, half=name == WEB_HALF_FILE)
            difference = check_parity(name, reference, outputs, tolerance, mask)
            own = {"largest_difference": float(f"{difference:.1e}")}
        measured[name] = {**own, "bytes": size, "rows_compared": len(mask)}
        if name.endswith(".tflite"):
            measured[name]["operations"] = count_operations(edge.file(name))
    return measured
