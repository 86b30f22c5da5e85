"""Calibration: temperature, calibration error and confidence threshold (Guo et al. 2017, ICML).

Confidence is the probability of the most probable label, 0 to 1.
"""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

# Guo et al. 2017, section 2: bins of equal width.
BINS = 15
# Bounds of the search for a temperature; a likelihood that still rises at a bound has no peak.
LOWEST, HIGHEST = 0.01, 100.0


def probabilities(logits: Array, temperature: float = 1.0) -> Array:
    """The softmax with a temperature: softmax(logits / temperature), float64; logits are (..., labels).

    Examples:
        >>> probabilities(np.array([0.0, 0.0])).tolist()
        [0.5, 0.5]
        >>> probabilities(np.array([2.0, 0.0]), temperature=100.0).round(2).tolist()
        [0.5, 0.5]
    """
    scaled = logits.astype("float64") / temperature
    shares = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def find_temperature(logits: Array, truth: Array) -> float | None:
    """Temperature scaling: the temperature with the least negative log likelihood (Guo et al. 2017, section 4.2).

    The log likelihood is a concave function of the inverse temperature. At its maximum, the mean of the logits weighted
    by their probabilities equals the mean logit of the true labels.

    Args:
        logits: (rows, labels).
        truth: the indices of the true labels (rows,).

    Returns:
        The temperature; None if there is no maximum: all rows are right, or predictions are no better than chance.

    Examples:
        >>> logits, truth = np.array([[2.0, 0.0]] * 4), np.array([0, 0, 0, 1])  # sure to 88 %, right in 75 %
        >>> round(find_temperature(logits, truth), 2)  # 2 / log 3
        1.82
    """
    from scipy.optimize import brentq

    true_mean = np.take_along_axis(logits, truth[:, None], axis=1)[:, 0].astype("float64").mean()

    def slope(inverse: float) -> float:
        return float((probabilities(logits, 1 / inverse) * logits).sum(axis=1).mean() - true_mean)

    low, high = 1 / HIGHEST, 1 / LOWEST
    if not slope(low) < 0 < slope(high):
        return None
    return float(1 / brentq(slope, low, high, xtol=1e-12))


def likelihood_loss(logits: Array, truth: Array, temperature: float = 1.0) -> float:
    """The mean negative log likelihood of the true labels, in nats; the arguments are those of `find_temperature`."""
    from scipy.special import log_softmax

    logs = log_softmax(logits.astype("float64") / temperature, axis=1)
    return float(-np.take_along_axis(logs, truth[:, None], axis=1).mean())


class Bin(NamedTuple):
    """A bin of a reliability diagram: the predictions with a confidence between two bounds."""

    rows: int
    confidence: float
    accuracy: float


def reliability(confidences: Array, right: Array) -> list[Bin | None]:
    """The bins of a reliability diagram (Guo et al. 2017, section 2); None for an empty bin.

    Bins are (0, 1/15], (1/15, 2/15], ...; the arguments are those of `calibration_error`.

    Examples:
        >>> bins = reliability(np.array([0.5, 1.0]), np.array([True, True]))
        >>> [place for place, entry in enumerate(bins) if entry is not None]
        [7, 14]
    """
    places = np.clip(np.ceil(confidences * BINS).astype(int) - 1, 0, BINS - 1)
    rows, sums, correct = (np.bincount(places, weights, BINS) for weights in (None, confidences, right))
    return [
        Bin(int(count), float(total / count), float(right_count / count)) if count else None
        for count, total, right_count in zip(rows, sums, correct, strict=True)
    ]


def calibration_error(confidences: Array, right: Array) -> float:
    """The expected calibration error, 0 to 1 (Guo et al. 2017, equation 3; Naeini et al. 2015).

    The mean distance between accuracy and mean confidence of the bins of `reliability`, weighted by their rows.

    Args:
        confidences: the confidence of each prediction (rows,).
        right: True for each correct prediction (rows,).

    Examples:
        >>> calibration_error(np.array([0.75, 0.75]), np.array([True, False]))
        0.25
    """
    bins = filter(None, reliability(confidences, right))
    return sum(entry.rows * abs(entry.accuracy - entry.confidence) for entry in bins) / len(confidences)


class ThresholdScores(NamedTuple):
    """The scores of the predictions above a confidence threshold.

    Attributes:
        share: their fraction of all predictions, 0 to 1.
        precision: the fraction of them that is correct; None if there are none.
    """

    share: float
    precision: float | None


def threshold_scores(threshold: float, confidences: Array, right: Array) -> ThresholdScores:
    """The share and the precision of the predictions with a confidence of at least the threshold.

    Examples:
        >>> threshold_scores(0.8, np.array([0.9, 0.6]), np.array([True, False]))
        ThresholdScores(share=0.5, precision=1.0)
    """
    kept = confidences >= threshold
    return ThresholdScores(float(kept.mean()), float(right[kept].mean()) if kept.any() else None)


def find_threshold(confidences: Array, right: Array, precision: float) -> float | None:
    """The smallest confidence threshold at which the predictions above it reach a precision.

    Args:
        confidences: the confidence of each prediction (rows,).
        right: True for each correct prediction (rows,).
        precision: the required fraction of correct predictions, 0 to 1.

    Returns:
        One of the confidences; None if no threshold reaches the precision.

    Examples:
        >>> find_threshold(np.array([0.9, 0.8, 0.6]), np.array([True, True, False]), precision=0.95)
        0.8
    """
    order = np.argsort(-confidences, kind="stable")
    ordered = confidences[order]
    shares = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    # A threshold cannot separate rows with equal confidences.
    reached = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True) & (shares >= precision))
    return float(ordered[reached[-1]]) if len(reached) else None
