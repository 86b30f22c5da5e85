"""The models and exported files that an evaluation measures, their sizes and their speeds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.scoring.blessing import STUDENT, TEACHER
from keras_bert.core.folders import EXPORT_FILE, MODEL_FILE, ONNX_FILE, SAVED_MODEL_FILE, TFLITE_FILE, TFLITE_FLOAT_FILE
from keras_bert.core.processor import usable_processors
from keras_bert.export.files import count_bytes
from keras_bert.options.quantization import RECIPES

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

    Features = dict[str, np.ndarray[Any, Any]]

_FILES = {
    "tflite float32": TFLITE_FLOAT_FILE,
    "tflite": TFLITE_FILE,
    "onnx float32": ONNX_FILE,
    "saved_model float32": SAVED_MODEL_FILE,
}
# Bits of a weight -> the type of the numbers in a quantized file.
_QUANTIZED = {4: "int4", 8: "int8", 16: "float16"}

# The first of these names that a job has is shipped.
SHIPPED = (
    *(f"tflite {kind}" for kind in _QUANTIZED.values()),
    *("tflite float32", "onnx float32", "saved_model float32", STUDENT, TEACHER),
)

# The time of a row that is answered alone on one thread, over that of a row in a batch.
_ROW_ALONE = 3


class ScoredFile(NamedTuple):
    """A model of one seed, or a file that was exported of it; `open`: makes the task that answers with the file."""

    open: "Callable[[], Task]"
    file: Path


def find_candidates(
    teachers: Sequence[Model], students: Sequence[Model], edges: Sequence[EdgeModel], part: str = ""
) -> dict[str, list[ScoredFile]]:
    """Name in the table -> the model or the file of each seed; `part` is the name of a task inside of them."""
    from keras_bert.export.bundle import load_exported
    from keras_bert.tasks.base import take_part
    from keras_bert.tasks.registry import load

    def model(artifact: Model) -> ScoredFile:
        return ScoredFile(lambda: take_part(load(artifact.path), part), artifact.file(MODEL_FILE))

    def exported(artifact: EdgeModel, name: str) -> ScoredFile:
        return ScoredFile(
            lambda: take_part(load_exported(artifact.path, name, num_threads=usable_processors()), part),
            artifact.file(name),
        )

    candidates = {TEACHER: list(map(model, teachers)), STUDENT: list(map(model, students))}
    for title, name in _FILES.items():
        artifacts = [artifact for artifact in edges if artifact.file(name).is_file()]
        if name == TFLITE_FILE and artifacts:
            recipe = artifacts[0].read_json(EXPORT_FILE)[TFLITE_FILE]["recipe"]
            title = f"{title} {_QUANTIZED[RECIPES[recipe].weight_bits]}"
        candidates[title] = [exported(artifact, name) for artifact in artifacts]
    return {title: seeds for title, seeds in candidates.items() if seeds}


def measure_size(candidate: ScoredFile, features: "Sequence[Features]") -> tuple[float, float]:
    """Megabytes of a file, and milliseconds for one row on one thread.

    `features` are rows as model inputs, each (1, length).
    """
    from components.scoring.latency import time_rows, traced
    from keras_bert.export.runtimes import open_file

    if candidate.file.name == MODEL_FILE:
        milliseconds = time_rows(traced(candidate.open().network()), features)
    else:
        longest = max(row["token_ids"].shape[1] for row in features)
        milliseconds = time_rows(open_file(candidate.file, longest).predict_on_batch, features)
    return count_bytes(candidate.file) / 1e6, milliseconds


def timing_work(test_rows: int) -> int:
    """The work of `measure_size` in rows answered in batches: each timed row is answered twice."""
    from components.scoring.latency import TIMED_ROWS

    return 2 * min(TIMED_ROWS, test_rows) * _ROW_ALONE


def read_timed_rows(examples: TaskExamples) -> "list[Features]":
    """The first test rows as model inputs, each (1, length), without padding; of each list its first row."""
    from components.scoring.latency import TIMED_ROWS
    from keras_bert.core.folders import INPUT_NAMES
    from keras_bert.data.task_batches import task_batches

    rows = []
    for batch in task_batches(examples.path, "test", 1).epoch().take(TIMED_ROWS):
        length = int(batch["padding_mask"].numpy()[0].sum())
        rows.append({name: batch[name].numpy()[:1, :length] for name in INPUT_NAMES})
    return rows
