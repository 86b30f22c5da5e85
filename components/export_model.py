"""Export: a model becomes files for other runtimes, each proven in the runtime it is for."""

import json
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.artifacts.edge_model import EdgeModel
from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.exporting.comparing import compare_files
from components.exporting.writing import write_files
from components.training.model_folder import read_model
from keras_bert.checks import check
from keras_bert.folders import GOLDEN_FILE, LABELS_FILE, TEXT_FILE, WEB_FILES
from keras_bert.options.export import Export

if TYPE_CHECKING:
    from keras_bert.compress.rounding import Rounding
    from keras_bert.export.rules.expected import Expected
    from keras_bert.tasks.base import Features, Task

LIBRARIES = (
    *("ai-edge-litert", "ai-edge-quantizer", "keras", "onnx", "onnxruntime"),
    *("tensorflow", "tensorflow-text", "tf2onnx"),
)

RECIPE_FILE = "recipe.json"


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
    recipe = write_files(task, rounding, edge, export, lambda: _read_rows(examples, "train", rows))
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
    measured = compare_files(task, rounding, compared, edge, list(recipe), int8_agreement)
    golden = golden_rows(load_exported(edge.path))
    edge.file(GOLDEN_FILE).write_text(json.dumps(golden, ensure_ascii=False) + "\n", encoding="utf-8")
    content = {name: {**recipe[name], **measured[name]} for name in recipe}
    edge.file(RECIPE_FILE).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    edge.counts = {name: entry["bytes"] for name, entry in content.items()}


def _expected(task: "Task", rounding: "Rounding | None", edge: EdgeModel, entry: "Mapping[str, Any]") -> "Expected":
    """What a file must be: the labels are those of the rows, the rest is the model's."""
    from keras_bert.export.rules.expected import Expected

    labels = edge.file(LABELS_FILE)
    known = tuple(json.loads(labels.read_text(encoding="utf-8"))) if labels.is_file() else ()
    pieces = task.tokenizer.vocabulary_size
    if rounding is None or "recipe" not in entry:
        return Expected(pieces, known)
    return Expected(pieces, known, rounding.recipe, rounding.float_layers)


def _read_rows(examples: TaskExamples, split: str, rows: int) -> "Features":
    """The first rows of a split as inputs of models (rows, longest)."""
    from keras_bert.data.task_batches import task_batches
    from keras_bert.folders import INPUT_NAMES

    batch = next(iter(task_batches(examples.path, split, rows).epoch()))
    return {name: batch[name].numpy() for name in INPUT_NAMES}
