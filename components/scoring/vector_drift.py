"""Drift of vectors: whether a classifier can tell new rows from validation rows by what the model's head reads."""

import base64
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from components.dsl.arrays import Array
from components.dsl.errors import InputError
from components.examples.drift import Drift
from components.scoring.registry import TASK_SCORING
from components.sources.shared import draw_rows
from keras_bert.core.folders import TFLITE_FILE, TFLITE_FLOAT_FILE

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

VECTORS_FILE = "vectors.json"
# Vectors are projected to so many numbers by random signs, which keeps their distances (Achlioptas 2003).
_WIDTH, _MOST_ROWS = 64, 1000
_FEWEST_ROWS, _FOLDS = 20, 5
# With 1,000 rows each, ridge classifiers of this strength have AUROC 0.50 +- 0.02 on rows of one source (SST-2).
_STRENGTH = 10.0
# The least AUROC that counts, and the standard errors of Mann-Whitney's U that chance may add: the AUROC of a
# cross-validated classifier spreads by 1.4 of them.
_LEAST_MORE, _STANDARD_ERRORS = 0.05, 3.5


def encode_vectors(task: "Task", file: Path, rows: Sequence[Any]) -> str:
    """The vectors of a sample of rows as text: base64 of (rows, 64) float16; empty if the file has none to compare."""
    vectors = _project(task, file, rows)
    return "" if vectors is None else base64.b64encode(vectors.astype("<f2").tobytes()).decode()


def compare_vectors(vectors: str, folder: Path, rows: Sequence[Any]) -> list[Drift]:
    """Compares the vectors of a pushed file for new rows with those of `encode_vectors` (Lopez-Paz and Oquab 2017).

    Returns:
        One entry; none if there are no vectors, or fewer than 20 rows.
    """
    from keras_bert.export.bundle import load_exported

    file = next((folder / name for name in (TFLITE_FILE, TFLITE_FLOAT_FILE) if (folder / name).is_file()), None)
    if not vectors or file is None:
        return []
    try:
        before = np.frombuffer(base64.b64decode(vectors, validate=True), "<f2").reshape(-1, _WIDTH).astype(np.float64)
        after = _project(load_exported(folder, file.name), file, rows)
    except (OSError, TypeError, ValueError) as error:
        raise InputError(
            f"--against must be a pushed model whose vectors can be compared, got {file}: {error}"
        ) from None
    if after is None or min(len(before), len(after)) < _FEWEST_ROWS:
        return []
    chance = math.sqrt((len(before) + len(after) + 1) / (12 * len(before) * len(after)))
    share, limit = tell_apart(before, after), 0.5 + max(_LEAST_MORE, _STANDARD_ERRORS * chance)
    measure = f"AUROC {share:.3f} of {limit:.3f}"
    return [Drift("vectors", f"{len(before)} rows", f"{len(after)} rows", measure, share > limit)]


def tell_apart(before: Array, after: Array) -> float:
    """The cross-validated AUROC of a linear classifier of two samples (rows, width); 0.5 where they look the same."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows, truth = np.concatenate([before, after]), np.repeat([0, 1], [len(before), len(after)])
    model = make_pipeline(StandardScaler(), RidgeClassifier(_STRENGTH * len(rows) ** 0.5, class_weight="balanced"))
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    return float(cross_val_score(model, rows, truth, scoring="roc_auc", cv=folds).mean())


def _project(task: "Task", file: Path, rows: Sequence[Any]) -> Array | None:
    """The projected vectors (rows, 64) of a sample of rows, of tokens their mean; None if the file has none."""
    from keras_bert.export.head_vectors import open_head_vectors

    texts, seconds = TASK_SCORING[task.name].texts([rows[row] for row in draw_rows(len(rows), _MOST_ROWS)])
    if task.name in ("embedding", "retrieval"):
        texts, seconds = [*texts, *(seconds or [])], None
    elif file.suffix == ".tflite":
        task.model = open_head_vectors(file)
    if file.suffix != ".tflite" or task.model is None:
        return None
    # The vectors of an embedding are an output with a name.
    outputs = task.outputs(texts, seconds, keep=lambda made: made[task.output_name] if isinstance(made, dict) else made)
    outputs = (np.asarray(output, np.float64) for output in outputs)
    # Outputs of tokens are 0 at padding.
    vectors = np.stack([output if output.ndim == 1 else output[output.any(axis=1)].mean(axis=0) for output in outputs])
    # Python's generator, unlike NumPy's, gives the same numbers in all versions.
    signs = random.Random(0).choices((-1.0, 1.0), k=vectors.shape[1] * _WIDTH)
    return vectors @ np.reshape(signs, (-1, _WIDTH)) / math.sqrt(vectors.shape[1])
