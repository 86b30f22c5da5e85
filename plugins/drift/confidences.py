"""Drift of confidences: how sure a pushed file is of new rows, beside how sure it was of validation rows."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from components.examples.row_schema import count_bins
from components.examples.row_traits import sample_rows
from components.scoring.calibration import row_confidences
from components.scoring.registry import TASK_SCORING
from keras_bert.core.folders import METRICS_FILE
from plugins.drift.measures import Drift, compare_bins


def compare_confidences(folder: Path, rows: Sequence[Any], part: str = "") -> list[Drift]:
    """Runs a pushed file on new rows and compares its confidences with those for validation rows.

    `part` is the task with these rows in a model of several.

    The result has one entry; none for a model whose evaluation has no confidences, as of a regression.
    """
    from keras_bert.export.bundle import load_exported
    from keras_bert.tasks.base import take_part

    if not (folder / METRICS_FILE).is_file():
        return []
    try:
        metrics = json.loads((folder / METRICS_FILE).read_text(encoding="utf-8"))
        calibration = (metrics["tasks"][part] if part else metrics)["calibration"]
        if calibration is None:
            return []
        edges, counts = (calibration["confidences"][name] for name in ("edges", "counts"))
        task = take_part(load_exported(folder), part)
        got = count_bins(row_confidences(calibration, TASK_SCORING[task.name].logits(task, sample_rows(rows))), edges)
        return [compare_bins("confidences", counts, got, edges)] if any(got) else []
    except (OSError, KeyError, TypeError, ValueError, RecursionError, ArithmeticError) as error:
        reason = f"the entry {error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise InputError(
            f"--against must be a pushed model whose confidences can be compared, got {folder}: {reason}"
        ) from None
