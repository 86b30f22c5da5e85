"""Probabilities of labels that do not exclude one another, and the threshold of each label."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.metrics.calibration import find_threshold, probabilities

Array = np.ndarray[Any, Any]

# The threshold of a label that no threshold suits better: no row has it.
HALF = 0.5
# Numbers of positive rows with which a label's threshold is half its own and half the common one; and the parts of the
# rows that choose among them in turn. Both are our choice.
SUPPORTS = (0.0, *(2.0**power for power in range(9)), math.inf)
FOLDS = 5


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

    `thresholds` has the least probability of each label; None for a label that is never given.

    Examples:
        >>> reach_thresholds(np.array([0.0, 9.0, -1.0]), [0.5, None, 0.25]).tolist()
        [True, False, True]
    """
    least = np.array([math.inf if threshold is None else threshold for threshold in thresholds])
    return np.asarray(label_probabilities(logits) >= least)


def choose_thresholds(shares: Array, truth: Array, precision: float | None = None) -> list[float | None]:
    """The thresholds of all labels: each between a common one and its own, by the number of rows that have the label.

    The common threshold is that of all decisions together. The logit of a label with n positive rows moves from the
    common threshold's to that of its own by n / (n + support). Cross-validation chooses the support: the one with the
    best micro F1 on rows that chose no threshold, or with a precision the one with the most hits that reaches it there.

    Args:
        shares: the probability of each label in each row (rows, labels), 0 to 1.
        truth: True for each label of a row (rows, labels).
        precision: the required share of right labels, see `find_precise_threshold`; None for the best F1.

    Returns:
        The thresholds; None for a label that is never given, because no threshold reaches the precision.
    """
    given = np.zeros((len(SUPPORTS), *truth.shape), bool)
    for learned, held in split_folds(len(shares)):
        thresholds = _shrink_thresholds(shares[learned], truth[learned], precision)
        given[:, held] = shares[held] >= thresholds[:, None]
    hits, counts = (given & truth).sum(axis=(1, 2)), given.sum(axis=(1, 2))
    scores = 2 * hits / np.maximum(counts + truth.sum(), 1)
    if precision is not None:
        reached = hits / np.maximum(counts, 1)
        scores = np.where(reached >= precision, 1 + hits, reached)
    chosen = _shrink_thresholds(shares, truth, precision)[best_support(scores)]
    return [float(value) if value < 1 else None for value in chosen]


def split_folds(rows: int) -> list[tuple[Array, Array]]:
    """The indices of the rows that choose thresholds and of the rows that score them, for each fold."""
    folds = np.random.default_rng(0).permutation(rows) % FOLDS
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]


def best_support(scores: Array) -> int:
    """The index of the support with the best score (supports,); among equals the largest, which moves least."""
    return len(scores) - 1 - int(scores[::-1].argmax())


def _shrink_thresholds(shares: Array, truth: Array, precision: float | None) -> Array:
    """The thresholds of all labels with each of `SUPPORTS` (supports, labels); 1 for a label that is never given."""
    from scipy.special import expit, logit

    find: Any = find_best_threshold
    if precision is not None:
        find = functools.partial(find_precise_threshold, precision=precision)
    optima = [find(*column) for column in ((shares.ravel(), truth.ravel()), *zip(shares.T, truth.T, strict=True))]
    common, *separate = logit(np.clip([1.0 if value is None else value for value in optima], 1e-12, 1 - 1e-12))
    positives = truth.sum(axis=0)
    weights = positives / np.maximum(positives + np.array(SUPPORTS)[:, None], 1)
    thresholds = expit(common + weights * (np.array(separate) - common))
    return np.asarray(np.where(thresholds < 1 - 1e-11, thresholds, 1.0))


def find_best_threshold(shares: Array, truth: Array) -> float:
    """The threshold of a label with the best F1; among equals the highest one.

    It lies in the middle between two probabilities, so that rounding in another runtime changes no answer.

    Probabilities of the label (rows,), 0 to 1, and True for each row that has it (rows,) -> the least probability, 0 to
    1; 0.5 where no row has the label.

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
    best = int(np.where(np.append(ordered[1:] != ordered[:-1], True), scores, -1).argmax())
    return _middle(shares, float(ordered[best]))


def find_precise_threshold(shares: Array, truth: Array, precision: float) -> float | None:
    """The lowest threshold of a label from which on it is right as often as required, see `find_best_threshold`.

    `precision` is the required share of the rows with the label among those that get it, 0 to 1. None if no threshold
    reaches it.

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
