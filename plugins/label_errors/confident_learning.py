"""Confident learning: likely wrong labels, from labels and out-of-fold probabilities (Northcutt et al. 2021, JAIR 70).

The probabilities of a row come from models that did not train on it. All arrays are NumPy arrays: `labels` (rows,) are
the indices of the given labels, and `probabilities` (rows, classes) sum to 1 in each row. Rounding follows cleanlab 2,
so the same rows are found. If margins are exactly equal, the first rows are taken; cleanlab's sorts are not stable, so
its choice among equal rows depends on the processor.
"""

from typing import Any

import numpy as np

from plugins.label_errors.search import LabelScore

Array = np.ndarray[Any, Any]

# Tolerance below a threshold, and above the probability of the given label.
_TOLERANCE = 1e-6
# The minimum threshold: otherwise every row would reach the threshold of a class that is never probable.
_LEAST_THRESHOLD = 2 * _TOLERANCE


def confident_thresholds(labels: Array, probabilities: Array) -> Array:
    """The threshold of each class (classes,): the mean probability of the class over the rows with its label.

    Northcutt et al. 2021, equation 2. A class without rows has the threshold 2, which no probability reaches.

    Examples:
        >>> probabilities = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]])
        >>> confident_thresholds(np.array([0, 0, 1]), probabilities).round(2).tolist()
        [0.8, 0.6]
    """
    classes = range(probabilities.shape[1])
    means = [probabilities[labels == number, number].mean() if (labels == number).any() else 2.0 for number in classes]
    return np.maximum(means, _LEAST_THRESHOLD)


def confident_joint(labels: Array, probabilities: Array) -> Array:
    """The estimated joint distribution of given and true labels, as counts of rows (classes, classes), integers.

    Entry (given, true) counts the rows with the label `given` whose most probable class among those that reach their
    thresholds is `true` (equation 1). The counts are scaled so that each given label keeps its number of rows (equation
    3). At least one row of each class counts as correctly labelled.

    Examples:
        >>> probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]])
        >>> confident_joint(np.array([0, 0, 0, 1]), probabilities).tolist()
        [[2, 1], [0, 1]]
    """
    classes = probabilities.shape[1]
    reaches = probabilities >= confident_thresholds(labels, probabilities) - _TOLERANCE
    # If several classes reach their thresholds, the most probable class of all is taken, as in cleanlab.
    guesses = np.where(reaches.sum(axis=1) > 1, probabilities.argmax(axis=1), reaches.argmax(axis=1))
    counted = reaches.any(axis=1)
    # Fortran order gives sums the rounding errors of cleanlab, which decide ties between equal counts.
    counts = np.zeros((classes, classes), order="F")
    np.add.at(counts, (labels[counted], guesses[counted]), 1)
    np.fill_diagonal(counts, counts.diagonal().clip(min=1))
    rows = np.bincount(labels, minlength=classes)
    scaled = counts / counts.sum(axis=1, keepdims=True) * rows[:, None]
    return _round_rows(scaled / scaled.sum() * len(labels))


def find_label_errors(labels: Array, probabilities: Array) -> Array:
    """Whether the label of each row is likely wrong (rows,), bool: pruning by noise rate (section 3.2, method 4).

    For each given and each other label, the confident joint counts the wrong rows; those with the largest margin of the
    other label are taken. Rows whose given label is the most probable one are never wrong.

    Examples:
        >>> probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]])
        >>> find_label_errors(np.array([0, 0, 0, 1]), probabilities).tolist()
        [False, False, True, False]
    """
    if len(labels) == 0 or probabilities.shape[:1] != labels.shape or probabilities.ndim != 2:
        shapes = f"{labels.shape} and {probabilities.shape}"
        raise ValueError(f"find_label_errors: labels must be (rows,) and probabilities (rows, classes), got {shapes}")
    counts = _keep_one_right(confident_joint(labels, probabilities))
    wrong = np.zeros(len(labels), bool)
    for given in np.flatnonzero(np.bincount(labels, minlength=len(counts)) > 1):
        rows = np.flatnonzero(labels == given)
        for other in np.flatnonzero(counts[given]):
            if other != given:
                margins = probabilities[rows, other] - probabilities[rows, given]
                wrong[rows[np.argsort(-margins, kind="stable")[: counts[given, other]]]] = True
    raised = probabilities.copy()
    raised[np.arange(len(labels)), labels] += _TOLERANCE
    return wrong & (raised.argmax(axis=1) != labels)


def score_labels(labels: Array, probabilities: Array, score: LabelScore = "self_confidence") -> Array:
    """Returns a quality score of each row's label (rows,), 0 to 1; low scores are likely errors.

    `self_confidence` is the probability of the given label; `normalized_margin` is (margin + 1) / 2, where the margin
    is its lead over the most probable other label. For the arguments see the module; there are at least two classes.

    Examples:
        >>> probabilities = np.array([[0.7, 0.2, 0.1]])
        >>> score_labels(np.array([1]), probabilities).tolist()
        [0.2]
        >>> score_labels(np.array([1]), probabilities, "normalized_margin").tolist()
        [0.25]
    """
    rows = np.arange(len(labels))
    confidences = probabilities[rows, labels]
    if score == "self_confidence":
        return np.asarray(confidences)
    others = probabilities.copy()
    others[rows, labels] = -np.inf
    return np.asarray((confidences - others.max(axis=1) + 1) / 2)


def _keep_one_right(joint: Array) -> Array:
    """The joint with at least one correct row per given label, taken evenly from its wrong rows."""
    right = joint.diagonal()
    missing = np.maximum(right, 1) - right
    others = np.maximum(np.count_nonzero(joint, axis=1) - 1.0, 1.0)
    kept = np.maximum(joint - (missing / others)[:, None], 0)
    np.fill_diagonal(kept, np.maximum(right, 1))
    return kept.astype(int)


def _round_rows(counts: Array) -> Array:
    """Rounds counts to integers with the same sum in each row, changing the entries with the largest errors."""
    rounded = counts.round()
    for row, exact in zip(rounded, counts, strict=True):
        missing = round(exact.sum()) - row.sum()
        while missing:
            order = np.argsort(exact - row, kind="stable")
            step = 1 if missing > 0 else -1
            changed = order[::-step][: int(abs(missing))]
            row[changed] += step
            missing = round(exact.sum()) - row.sum()
    return rounded.astype(int)
