"""Drift of vectors: whether a classifier can tell new rows from validation rows by what the model's head reads."""

import base64
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.dsl.arrays import Array
from components.dsl.errors import InputError
from components.scoring.row_vectors import VECTOR_WIDTH, project_vectors
from keras_bert.core.folders import TFLITE_FILE, TFLITE_FLOAT_FILE
from plugins.drift.measures import Drift

_FEWEST_ROWS, _FOLDS = 20, 5
# With 1,000 rows each, ridge classifiers of this strength have AUROC 0.50 +- 0.02 on rows of one source (SST-2).
_STRENGTH = 10.0
# The least AUROC that counts, and the standard errors of Mann-Whitney's U that chance may add: the AUROC of a
# cross-validated classifier spreads by 1.4 of them.
_LEAST_MORE, _STANDARD_ERRORS = 0.05, 3.5


def compare_vectors(vectors: str, folder: Path, rows: Sequence[Any]) -> list[Drift]:
    """Compares the vectors of a pushed file for new rows with those of `encode_vectors` (Lopez-Paz and Oquab 2017).

    The result has one entry; none if there are no vectors, or fewer than 20 rows.
    """
    from keras_bert.export.bundle import load_exported

    file = next((folder / name for name in (TFLITE_FILE, TFLITE_FLOAT_FILE) if (folder / name).is_file()), None)
    if not vectors or file is None:
        return []
    try:
        before = (
            np.frombuffer(base64.b64decode(vectors, validate=True), "<f2").reshape(-1, VECTOR_WIDTH).astype(np.float64)
        )
        after = project_vectors(load_exported(folder, file.name), file, rows)
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
