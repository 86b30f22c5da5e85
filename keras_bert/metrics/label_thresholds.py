"""Probabilities of labels that do not exclude one another, and the threshold of each label."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.metrics.calibration import find_threshold, probabilities

Array = np.ndarray[Any, Any]

# The threshold of a label that no threshold suits better: no row has it.
HALF = 0.5


def with_absence(logits: Array) -> Array:
    """The logits of a label's absence and presence: (...) -> (..., 2); their softmax ends with the sigmoid."""
    return np.stack([np.zeros_like(logits), logits], axis=-1)


def label_probabilities(logits: Array, temperature: float = 1.0) -> Array:
    """The sigmoid with a temperature, float64: logits (...) -> (...).

    Examples:
        >>> label_probabilities(np.array([0.0, 100.0])).round(4).tolist()
        [0.5, 1.0]
    """
    return np.asarray(probabilities(with_absence(np.asarray(logits)), temperature)[..., 1])


def reach_thresholds(logits: Array, thresholds: Sequence[float | None]) -> Array:
    """Whether each label is given: logits (..., labels) -> bool (..., labels).

    Args:
        logits: the model's outputs.
        thresholds: the least probability of each label; None for a label that is never given.

    Examples:
        >>> reach_thresholds(np.array([0.0, 9.0, -1.0]), [0.5, None, 0.25]).tolist()
        [True, False, True]
    """
    least = np.array([math.inf if threshold is None else threshold for threshold in thresholds])
    return np.asarray(label_probabilities(logits) >= least)


def find_best_threshold(shares: Array, truth: Array) -> float:
    """The threshold of a label with the best F1; among equals the highest one.

    It lies in the middle between two probabilities, so that rounding in another runtime changes no answer.

    Args:
        shares: the probability of the label in each row (rows,), 0 to 1.
        truth: True for each row that has the label (rows,).

    Returns:
        The threshold, 0 to 1, that a probability has to reach; 0.5 where no row has the label.

    Examples:
        >>> find_best_threshold(np.array([0.9, 0.5, 0.25, 0.125]), np.array([True, False, True, False]))
        0.1875
    """
    if not truth.any():
        return HALF
    order = np.argsort(-shares, kind="stable")
    ordered = shares[order]
    scores = 2 * np.cumsum(truth[order]) / (np.arange(1, len(order) + 1) + truth.sum())
    # A threshold cannot separate rows with equal probabilities.
    last = np.append(ordered[1:] != ordered[:-1], True)
    best = int(np.where(last, scores, -1).argmax())
    return _middle(shares, float(ordered[best]))


def find_precise_threshold(shares: Array, truth: Array, precision: float) -> float | None:
    """The lowest threshold of a label from which on it is right as often as required, see `find_best_threshold`.

    Args:
        shares: see `find_best_threshold`.
        truth: see `find_best_threshold`.
        precision: the required share of the rows with the label among those that get it, 0 to 1.

    Returns:
        The threshold; None if no threshold reaches the precision.

    Examples:
        >>> find_precise_threshold(np.array([0.9, 0.5, 0.25]), np.array([True, False, True]), precision=0.75)
        0.7
        >>> find_precise_threshold(np.array([0.9, 0.5]), np.array([False, True]), precision=0.75) is None
        True
    """
    lowest = find_threshold(shares, truth, precision)
    return None if lowest is None else _middle(shares, lowest)


def _middle(shares: Array, lowest: float) -> float:
    """The middle between the lowest probability that counts and the next lower one, or 0.

    There is none between two neighbouring floating-point numbers: then it is the lowest probability that counts.
    """
    lower = float(shares[shares < lowest].max(initial=0.0))
    middle = (lowest + lower) / 2
    return middle if middle > lower else lowest
