"""Export of a model to files for other runtimes, each compared with the model in its runtime."""

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import InputError, input_errors, table_errors
from components.dsl.side_process import call_beside, can_call_beside
from components.dsl.step_folders import ProgressParts, ProgressSink
from components.examples.registry import TASK_ROWS, read_rows
from components.training.model_folder import read_model
from keras_bert.core.folders import (
    ACCELERATORS_FOLDER,
    COVERAGE_FILE,
    EXPORT_FILE,
    GOLDEN_FILE,
    LABELS_FILE,
    MODEL_FILE,
    TFLITE_FILE,
    TFLITE_FLOAT_FILE,
    temporary_folder,
)
from keras_bert.options.export import Export

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.export.files import ExportedFile
    from keras_bert.export.inputs import ComparisonRows, ExportInputs
    from keras_bert.export.targets.base import ExportTarget
    from keras_bert.tasks.base import Features, Task

LIBRARIES = (
    *("ai-edge-litert", "ai-edge-quantizer", "keras", "onnx", "onnxruntime"),
    *("tensorflow", "tensorflow-text", "tf2onnx", "tokenizers"),
)

# Work in units of some 9 CPU seconds, measured with 3 layers of width 384, 30,522 vocabulary entries and 500 rows of
# 128 tokens. For each length of a file: writing its graph. For each file with token ids as inputs: comparing its
# answers with the model's (9 to 16 s; a file with text as input takes 0.2 s). For each accelerator: compiling (1 to 7
# s). And the golden outputs of all files.
_WRITING, _COMPARING, _COMPILING, _GOLDEN = 1.0, 1.4, 0.5, 0.6


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

    `model.onnx` is for ONNX Runtime, `model_mediapipe.tflite` for MediaPipe Tasks, the
    folder `transformers_js` for transformers.js and Optimum, the others are for LiteRT; `model_text.tflite` takes text.
    A quantized model gives a `model.tflite` by its recipe; a float model only gives `model_float32.tflite`.

    Args:
        model: a model of any task; a quantized one has `quantization.json` with its recipe and the ranges.
        examples: the rows: the first validation rows are compared; training rows calibrate files that need ranges.
        edge: the files, the task's settings, `labels.json` if there are labels, `golden.json` for developers of apps,
            and `export.json`: the number formats, libraries and measurements of each file.
        export: which files to write.
        rows: the number of rows to compare.
        int8_agreement: the share of rows, see `Task.agreement`, for which the quantized file must give the answers of
            the model with activations quantized in Keras. Both differ only in the order of their sums, so only rows
            near a tie may differ. If the range of a tensor is wide, such as a feed-forward output with one value of 195
            and all others about 1, or many rows are near ties, as the starts and ends of answers are, a last bit moves
            an answer as far as quantization does; then the share may be as small as `expected_agreement` says. Files
            with integers alone, and `model_int8.onnx`, must agree to 95 %.

    Raises:
        InputError: `export.dimension` is set for a task without vectors, or is above their width; or an accelerator
            does not take the file.
        ParityError: the answers of a file differ from those of the model.
        LintError: a file breaks a rule of its format, see `keras_bert.export.rules`.
    """
    from keras_bert.clients.golden import make_golden_rows, write_golden
    from keras_bert.compress.quantization_parameters import read_quantization
    from keras_bert.export.inputs import ComparisonRows, ExportInputs, needs_calibration_rows
    from keras_bert.export.targets.registry import TARGETS

    if examples.file(LABELS_FILE).is_file():
        shutil.copyfile(examples.file(LABELS_FILE), edge.file(LABELS_FILE))
    quantization = read_quantization(model.path)
    targets = [target for name, target in TARGETS.items() if name in export.runtimes]
    # One process took 2.3 GB for a model of 24 MB, and 4.6 GB for one of 90 MB.
    memory = 2 * (1.5e9 + 35 * model.file(MODEL_FILE).stat().st_size)
    beside = _choose_beside(targets, quantization) if can_call_beside(memory) else []

    def open_source() -> tuple["ExportInputs", "ComparisonRows"]:
        task, features = _truncate(read_model(model), export.dimension), read_features(examples, "validation", rows)
        task.pairs = are_pairs(task, features)
        recipe = None if quantization is None else quantization.recipe
        calibration_rows = read_features(examples, "train", rows) if needs_calibration_rows(recipe) else None
        # Of pairs and questions the first text.
        first_text = TASK_ROWS[task.name].texts
        sample = ComparisonRows(
            features, lambda: [first_text(row)[0] for row in read_rows(examples, "validation")[:rows]], int8_agreement
        )
        return ExportInputs(task, quantization, export, edge.path, calibration_rows), sample

    # Until here, this process has not used TensorFlow.
    exported_beside = call_beside(lambda: _export(*open_source(), beside)[0]) if beside else dict[str, Any]
    source, sample = open_source()
    source.task.save_settings(edge.path)
    here = [target for target in targets if target not in beside]
    records, (*compiling, golden) = _export(source, sample, here, [*[_COMPILING] * len(export.accelerators), _GOLDEN])
    records |= exported_beside()
    with temporary_folder() as scratch:
        for name, progress in zip(export.accelerators, compiling, strict=True):
            progress(0, 1, f"compiling for {name}")
            with input_errors("export.accelerators: "):
                _compile(source, name, Path(scratch))
    golden(0, 1, f"writing {GOLDEN_FILE}")
    write_golden(edge.path, make_golden_rows(edge.path))
    golden(1, 1, f"writing {GOLDEN_FILE}")
    edge.file(EXPORT_FILE).write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")
    edge.counts = {file.name: records[file.name]["bytes"] for target in targets for file in target.files(quantization)}


def _choose_beside(
    targets: Sequence["ExportTarget"], quantization: "QuantizationParameters | None"
) -> list["ExportTarget"]:
    """The targets whose files a second process writes: at most half of the files.

    A target stays with the one whose files it reads.
    """
    files = Counter[str]()
    for target in targets:
        files[target.measured_by or target.name] += len(target.files(quantization))
    chosen: dict[str, int] = {}
    for name, count in files.most_common():
        if sum(chosen.values()) + count <= files.total() // 2:
            chosen[name] = count
    return [target for target in targets if (target.measured_by or target.name) in chosen]


def _export(
    source: "ExportInputs", sample: "ComparisonRows", targets: Sequence["ExportTarget"], later: Sequence[float] = ()
) -> tuple[dict[str, Any], list[ProgressSink]]:
    """Writes the files of targets, then compares each with the model.

    Returns the records of the files by name, and the progress of the works that come later.
    """
    files = [(target, file) for target in targets for file in target.files(source.quantization)]
    works = [_WRITING * len(target.lengths(source)) * len(target.files(source.quantization)) for target in targets]
    works += [*(_COMPARING * file.takes_ids for _, file in files), *later]
    progress = list(map(ProgressParts(works).sink, range(len(works))))
    for target, report in zip(targets, progress, strict=False):
        report(0, 1, f"writing for {target.name}")
        target.write(source)
    records = {}
    for (target, file), report in zip(files, progress[len(targets) :], strict=False):
        report(0, 1, f"comparing {file.name}")
        _attach_and_lint(source, file)
        records[file.name] = {**target.describe(source, file), **target.compare(source, file, sample)}
    return records, progress[len(works) - len(later) :]


def _compile(source: "ExportInputs", name: str, scratch: Path) -> None:
    """Compiles the files of an export for an accelerator; `scratch` keeps the graph that all chips of a maker take."""
    from keras_bert.accelerators.registry import compile_file, compile_onnx, find_accelerator
    from keras_bert.export.onnx_chips import export_for_chips
    from keras_bert.export.targets.onnx import has_int8_ranges

    folder, coverage_file = source.folder / ACCELERATORS_FOLDER, source.folder / COVERAGE_FILE
    largest_id = source.task.tokenizer.vocabulary_size - 1
    lite = source.folder / (TFLITE_FLOAT_FILE if source.quantization is None else TFLITE_FILE)
    coverage = compile_file(name, lite, folder, largest_id)
    if find_accelerator(name).takes_onnx:
        ranges = source.quantization.ranges if has_int8_ranges(source.quantization) else None
        graph = next(scratch.glob("*.onnx"), None) or export_for_chips(source.task, scratch, ranges)
        compile_onnx(name, graph, folder, source.options.choose_lengths(source.task.max_length), largest_id)
    folder.mkdir(exist_ok=True)
    covered = json.loads(coverage_file.read_text(encoding="utf-8")) if coverage_file.is_file() else {}
    coverage_file.write_text(json.dumps({**covered, name: coverage._asdict()}, indent=1) + "\n", encoding="utf-8")


def _truncate(task: "Task", dimension: int | None) -> "Task":
    """The task with vectors of this width; the task itself for None."""
    from keras_bert.tasks.embedding import Embedding

    if dimension is None:
        return task
    if not isinstance(task, Embedding):
        raise InputError(f"export.dimension is only allowed for embedding and retrieval, got it for {task.name}")
    # An earlier version whose space the model is trained into may have been truncated already.
    if dimension == task.model.output["embedding"].shape[-1]:
        return task
    with table_errors("export"):
        return task.truncated(dimension)


def _attach_and_lint(source: "ExportInputs", file: "ExportedFile") -> None:
    """Makes a file self-contained, unless it is one of a folder for the web, and checks the rules of its kind."""
    from keras_bert.export.bundle import attach_companions
    from keras_bert.export.lint import lint_file
    from keras_bert.export.rules.expected import Expected

    if not file.is_self_contained:
        return
    path = source.folder / file.name
    attach_companions(source.task, path)
    # The rules do not know the operations of tensorflow-text.
    if not file.takes_ids:
        return
    labels_file = source.folder / LABELS_FILE
    labels = tuple(json.loads(labels_file.read_text(encoding="utf-8"))) if labels_file.is_file() else ()
    expected = Expected(source.task.tokenizer.vocabulary_size, labels)
    if source.quantization is not None and file.numbers == "model":
        expected = Expected(*expected[:2], source.quantization.recipe, source.quantization.float_layers)
    lint_file(path, expected)


def read_features(examples: TaskExamples, split: str, rows: int) -> "Features":
    """The first rows of a split as inputs of models (rows, longest)."""
    from keras_bert.core.folders import INPUT_NAMES
    from keras_bert.data.task_batches import task_batches

    batch = next(iter(task_batches(examples.path, split, rows).epoch()))
    return {name: batch[name].numpy() for name in INPUT_NAMES}


def are_pairs(task: "Task", features: "Features") -> bool | None:
    """Whether rows (rows, longest) hold two texts each; None where some do, or where the task takes one or two."""
    if task.second_text != "optional":
        return None
    ends = (features["token_ids"] == task.tokenizer.sep_id) & (features["padding_mask"] == 1)
    shares = ends.sum(axis=1) > 1
    return bool(shares.all()) if shares.all() or not shares.any() else None
