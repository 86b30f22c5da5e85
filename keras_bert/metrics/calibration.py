"""How far a model may be believed: temperature, calibration error and threshold (Guo et al. 2017, ICML).

Confidence is the probability of the likeliest label, 0 to 1.
"""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

# Guo et al. 2017, section 2: bins of equal width.
BINS = 15
# Temperatures that are looked for; where the likelihood still rises at an end, it has no peak that the rows can show.
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

    wanted = np.take_along_axis(logits, truth[:, None], axis=1)[:, 0].astype("float64").mean()

    def slope(inverse: float) -> float:
        return float((probabilities(logits, 1 / inverse) * logits).sum(axis=1).mean() - wanted)

    low, high = 1 / HIGHEST, 1 / LOWEST
    if not slope(low) < 0 < slope(high):
        return None
    return float(1 / brentq(slope, low, high, xtol=1e-12))


def likelihood_loss(logits: Array, truth: Array, temperature: float = 1.0) -> float:
    """The mean negative log likelihood of the true labels, in nats; arguments as of `find_temperature`."""
    from scipy.special import log_softmax

    logs = log_softmax(logits.astype("float64") / temperature, axis=1)
    return float(-np.take_along_axis(logs, truth[:, None], axis=1).mean())


class Bin(NamedTuple):
    """The answers whose confidence is between two bounds.

    Attributes:
        rows: how many.
        confidence: their mean one.
        accuracy: the share that is right.
    """

    rows: int
    confidence: float
    accuracy: float


def reliability(confidences: Array, right: Array) -> list[Bin | None]:
    """What answers of each confidence are worth (Guo et al. 2017, section 2), `BINS` bins; None for an empty one.

    Bins are (0, 1/15], (1/15, 2/15], ...; arguments as of `calibration_error`.
    """
    places = np.clip(np.ceil(confidences * BINS).astype(int) - 1, 0, BINS - 1)
    rows, sums, hits = (np.bincount(places, weights, BINS) for weights in (None, confidences, right))
    return [
        Bin(int(count), float(total / count), float(hit / count)) if count else None
        for count, total, hit in zip(rows, sums, hits, strict=True)
    ]


def calibration_error(confidences: Array, right: Array) -> float:
    """The expected calibration error, 0 to 1 (Guo et al. 2017, equation 3; Naeini et al. 2015).

    The mean over the bins of `reliability`, each weighed by its rows, of the distance between the share of right
    answers and the mean confidence.

    Args:
        confidences: (rows,).
        right: whether each answer is (rows,).
    """
    bins = filter(None, reliability(confidences, right))
    return sum(own.rows * abs(own.accuracy - own.confidence) for own in bins) / len(confidences)


class Kept(NamedTuple):
    """What a threshold keeps.

    Attributes:
        share: of all answers, 0 to 1.
        precision: of the kept ones, the share that is right; None where none is kept.
    """

    share: float
    precision: float | None


def kept_by(threshold: float, confidences: Array, right: Array) -> Kept:
    """Which answers a model is sure of: those whose confidence is the threshold or more."""
    kept = confidences >= threshold
    return Kept(float(kept.mean()), float(right[kept].mean()) if kept.any() else None)


def find_threshold(confidences: Array, right: Array, precision: float) -> float | None:
    """The smallest confidence such that, of the answers with at least as much, a share is right.

    Args:
        confidences: (rows,).
        right: whether each answer is (rows,).
        precision: the share, 0 to 1.

    Returns:
        One of the confidences; None where no threshold reaches it.
    """
    order = np.argsort(-confidences, kind="stable")
    ordered = confidences[order]
    shares = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    # Rows with one confidence are kept or left together.
    last = np.append(ordered[1:] != ordered[:-1], True)
    reached = np.flatnonzero(last & (shares >= precision))
    return float(ordered[reached[-1]]) if len(reached) else None
