"""Calibrates the shipped file on validation rows, and measures the calibration on test rows."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from components.dsl.arrays import Array
from components.dsl.errors import InputError
from components.examples.row_schema import choose_edges, count_bins
from components.scoring.base import LabelLogits
from components.scoring.registry import TASK_SCORING

# The least number of rows to fit a temperature to; with fewer it depends on chance errors.
FEWEST_ROWS = 50


def check_precision(precision: float | None, task: str) -> None:
    """Checks that a task has probabilities where a precision is required."""
    allowed = [name for name, scoring in TASK_SCORING.items() if scoring.has_probabilities and scoring.has_confidences]
    if precision is not None and task not in allowed:
        by_label = "" if TASK_SCORING[task].has_confidences else "; examples.label_precision is that of each label"
        raise InputError(f"min_precision is only allowed for {' and '.join(allowed)}, got {precision:g}{by_label}")


def calibrate(validation: LabelLogits, labels: Sequence[str], precision: float | None) -> dict[str, Any]:
    """Chooses a temperature and a threshold on validation rows.

    `precision` is the required share of right answers above the threshold, 0 to 1; None for no threshold.

    Returns:
        `temperature`, None where logits stay unchanged, for the reason `no_temperature`: the rows are few, or the
        likelihood has no peak; with a precision `min_precision` and `threshold`, None where no threshold reaches it;
        `validation`, see `measure`; and `confidences`, the `row_confidences` in bins, with `edges` and `counts`.
    """
    from keras_bert.metrics.calibration import find_temperature, find_threshold

    split, rows = _Split.of(validation, labels), len(set(validation.rows.tolist()))
    enough = rows >= FEWEST_ROWS
    content: dict[str, Any] = {"temperature": find_temperature(split.logits, split.truth) if enough else None}
    if content["temperature"] is None:
        few = f"{rows} validation rows are fewer than the {FEWEST_ROWS} that a temperature needs"
        content["no_temperature"] = "all validation answers are right, or no better than chance" if enough else few
    if precision is not None:
        answers = split.confidences(content["temperature"] or 1.0)
        content |= {"min_precision": precision, "threshold": find_threshold(*answers, precision)}
    confidences = row_confidences(content, validation)
    edges = choose_edges(confidences)
    content["confidences"] = {"edges": edges, "counts": count_bins(confidences, edges)}
    return {**content, "validation": measure(content, validation, labels)}


def measure(calibration: Mapping[str, Any], rows: LabelLogits, labels: Sequence[str]) -> dict[str, Any]:
    """Measures a calibration on the rows of a split.

    Returns:
        `rows`, the number of rows; `calibration_error`, 0 to 1, and `likelihood_loss`, in nats, before and after
        calibration; and with a threshold `kept`: the `share` of the answers above it, and their `precision`.
    """
    from keras_bert.metrics.calibration import calibration_error, likelihood_loss, threshold_scores

    split, temperature = _Split.of(rows, labels), calibration["temperature"] or 1.0
    both = (1.0, temperature)
    content: dict[str, Any] = {
        "rows": len(split.truth),
        "calibration_error": [calibration_error(*split.confidences(value)) for value in both],
        "likelihood_loss": [likelihood_loss(split.logits, split.truth, value) for value in both],
    }
    if calibration.get("threshold") is not None:
        content["kept"] = threshold_scores(calibration["threshold"], *split.confidences(temperature))._asdict()
    return content


def reliability_bins(calibration: Mapping[str, Any], rows: LabelLogits, labels: Sequence[str]) -> dict[str, Any]:
    """The bins of two reliability diagrams, `before` and `after` calibration, as dicts; None for an empty bin."""
    from keras_bert.metrics.calibration import reliability

    split = _Split.of(rows, labels)
    both = {"before": 1.0, "after": calibration["temperature"] or 1.0}
    return {
        name: [entry and entry._asdict() for entry in reliability(*split.confidences(temperature))]
        for name, temperature in both.items()
    }


def row_confidences(calibration: Mapping[str, Any], rows: LabelLogits) -> list[float]:
    """The mean calibrated probability of the most probable classes of each row that has a decision, 0 to 1.

    A row has one decision for each word or label, see `LabelLogits`. The true labels are not read.
    """
    from keras_bert.metrics.calibration import probabilities

    largest = probabilities(rows.logits, calibration["temperature"] or 1.0).max(axis=1)
    counts = np.bincount(rows.rows)
    sums = np.bincount(rows.rows, weights=largest)
    means: list[float] = (sums[counts > 0] / counts[counts > 0]).tolist()
    return means


def confidences_of(calibration: Mapping[str, Any], rows: LabelLogits, labels: Sequence[str]) -> list[float]:
    """The calibrated probability of each answer, 0 to 1."""
    shares, _ = _Split.of(rows, labels).confidences(calibration["temperature"] or 1.0)
    return [float(share) for share in shares]


class _Split(NamedTuple):
    """The logits (rows, labels) of a split, and the numbers of the true labels (rows,)."""

    logits: Array
    truth: Array

    @staticmethod
    def of(rows: LabelLogits, labels: Sequence[str]) -> "_Split":
        numbers = {label: number for number, label in enumerate(labels)}
        return _Split(rows.logits, np.array([numbers[label] for label in rows.truth]))

    def confidences(self, temperature: float) -> tuple[Array, Array]:
        """The probability of each row's answer, and whether the answer is right."""
        from keras_bert.metrics.calibration import probabilities

        shares = probabilities(self.logits, temperature)
        return shares.max(axis=1), shares.argmax(axis=1) == self.truth
