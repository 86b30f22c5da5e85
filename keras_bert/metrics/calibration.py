"""Calibration: temperature, calibration error and confidence threshold (Guo et al. 2017, ICML).

Confidence is the probability of the likeliest label, 0 to 1.
"""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

# Guo et al. 2017, section 2: bins of equal width.
BINS = 15
# Bounds of the search for a temperature; a likelihood that still rises at a bound has no peak.
LOWEST, HIGHEST = 0.01, 100.0


def probabilities(logits: Array, temperature: float = 1.0) -> Array:
    """The softmax of logits (..., labels) that are divided by a temperature, float64."""
    scaled = logits.astype("float64") / temperature
    shares = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def find_temperature(logits: Array, truth: Array) -> float | None:
    """The temperature with the least negative log likelihood (Guo et al. 2017, section 4.2).

    By its inverse b the likelihood is concave: at its peak, the mean of the logits as the model weighs them is the mean
    of the true labels' logits.

    Args:
        logits: (rows, labels).
        truth: the numbers of the true labels (rows,).

    Returns:
        The temperature; None where there is no peak: every row is right, or they are no better than chance.
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
    """The answers whose confidence is between two bounds.

    Attributes:
        rows: number of answers.
        confidence: mean confidence.
        accuracy: share of right answers.
    """

    rows: int
    confidence: float
    accuracy: float


def reliability(confidences: Array, right: Array) -> list[Bin | None]:
    """The bins of a reliability diagram (Guo et al. 2017, section 2); None for an empty bin.

    Bins are (0, 1/15], (1/15, 2/15], ...; the arguments are those of `calibration_error`.
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
        confidences: (rows,).
        right: whether each answer is (rows,).
    """
    bins = filter(None, reliability(confidences, right))
    return sum(entry.rows * abs(entry.accuracy - entry.confidence) for entry in bins) / len(confidences)


class Kept(NamedTuple):
    """The answers above a confidence threshold.

    Attributes:
        share: their share of all answers, 0 to 1.
        precision: the share of right answers among them; None where there are none.
    """

    share: float
    precision: float | None


def kept_by(threshold: float, confidences: Array, right: Array) -> Kept:
    """The share and the precision of the answers whose confidence is at least the threshold."""
    kept = confidences >= threshold
    return Kept(float(kept.mean()), float(right[kept].mean()) if kept.any() else None)


def find_threshold(confidences: Array, right: Array, precision: float) -> float | None:
    """The smallest confidence from which on the answers have a precision.

    Args:
        confidences: (rows,).
        right: whether each answer is (rows,).
        precision: the share of right answers, 0 to 1.

    Returns:
        One of the confidences; None where no threshold reaches the precision.
    """
    order = np.argsort(-confidences, kind="stable")
    ordered = confidences[order]
    shares = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    # Rows with one confidence are kept or left together.
    last = np.append(ordered[1:] != ordered[:-1], True)
    reached = np.flatnonzero(last & (shares >= precision))
    return float(ordered[reached[-1]]) if len(reached) else None
