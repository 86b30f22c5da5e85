"""Vectors of rows that the head of a model reads, which new rows are compared with."""

import base64
import itertools
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from components.dsl.arrays import Array
from components.scoring.registry import TASK_SCORING
from components.sources.shared import draw_rows

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

VECTORS_FILE = "vectors.json"
# Vectors are projected to so many numbers by random signs, which keeps their distances (Achlioptas 2003).
VECTOR_WIDTH, _MOST_ROWS = 64, 1000
# Sparse vectors have a number for each piece of the vocabulary, so that all of them would take a gigabyte.
_ROWS_AT_ONCE = 128


def encode_vectors(task: "Task", file: Path, rows: Sequence[Any]) -> str:
    """The vectors of a sample of rows as text: base64 of (rows, 64) float16; empty if the file has none to compare."""
    vectors = project_vectors(task, file, rows)
    return "" if vectors is None else base64.b64encode(vectors.astype("<f2").tobytes()).decode()


def project_vectors(task: "Task", file: Path, rows: Sequence[Any]) -> Array | None:
    """The projected vectors (rows, 64) of a sample of rows, of tokens their mean; None if the file has none."""
    from keras_bert.export.head_vectors import open_head_vectors

    texts, seconds = TASK_SCORING[task.name].texts([rows[row] for row in draw_rows(len(rows), _MOST_ROWS)])
    if task.second_text == "compared":
        texts, seconds = [*texts, *(seconds or [])], None
    elif file.suffix == ".tflite":
        task.model = open_head_vectors(file)
    if file.suffix != ".tflite" or task.model is None:
        return None
    # The vectors of an embedding are an output with a name.
    outputs = task.outputs(texts, seconds, keep=lambda made: made[task.output_name] if isinstance(made, dict) else made)
    outputs = (np.asarray(output, np.float64) for output in outputs)
    # Outputs of tokens are 0 at padding.
    vectors = (output if output.ndim == 1 else output[output.any(axis=1)].mean(axis=0) for output in outputs)
    projected = list[Array]()
    while block := list(itertools.islice(vectors, _ROWS_AT_ONCE)):
        if not projected:
            # Python's generator, unlike NumPy's, gives the same numbers in all versions.
            signs = random.Random(0).choices((-1.0, 1.0), k=len(block[0]) * VECTOR_WIDTH)
            factors = np.reshape(signs, (-1, VECTOR_WIDTH)) / math.sqrt(len(block[0]))
        projected.append(np.stack(block) @ factors)
    return np.concatenate(projected)
