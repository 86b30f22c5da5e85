"""Metrics as functions of means over rows, so that the scores of all samples of the rows are one matrix product."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from components.dsl.arrays import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# How often each row is drawn (samples, rows) -> scores (samples,); not a number where a score is undefined.
Measure = Callable[[Array], Array]

# The variance of equal numbers over their mean square, at most: what rounding leaves of 0 in float64.
_ROUNDED_VARIANCE = 1e-12


@dataclasses.dataclass(frozen=True)
class RowStatistics:
    """A metric as a function of the means of some numbers of each row; a `Measure`.

    Attributes:
        values: the numbers (rows, numbers); sparse where most are 0.
        combine: means (..., numbers) -> the metric (...); not a number where it is undefined.
    """

    values: "Array | csr_array"
    combine: Callable[[Array], Array]

    @classmethod
    def of_scores(cls, scores: Iterable[float]) -> "RowStatistics":
        """The metric that is the mean of a score for each row."""
        return cls(np.array([*scores], "float64")[:, None], lambda means: means[..., 0])

    def __call__(self, counts: Array) -> Array:
        """The metric of samples (samples,), given how often they draw each row (samples, rows)."""
        return self.combine(counts @ self.values / self.values.shape[0])


def score_rows(measure: Measure) -> list[float] | None:
    """The score of each row, where the metric is their mean."""
    if not isinstance(measure, RowStatistics) or measure.values.shape[1] != 1:
        return None
    scores: list[float] = measure.values[:, 0].tolist()
    return scores


def label_statistics(
    metric: str, true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], labels: Sequence[str]
) -> RowStatistics | None:
    """The statistics of accuracy over words, macro F1 and Matthews' correlation, as `score_labels` defines them.

    A text has one label, a sentence one a word. A predicted label that is not among `labels` is wrong. None for another
    metric.
    """
    from scipy.sparse import csr_array

    if metric not in ("accuracy", "macro_f1", "mcc"):
        return None
    numbers = {label: number for number, label in enumerate(labels)}
    # The last column counts predictions that are no label of the task.
    width = len(labels) + 1
    rows = np.repeat(np.arange(len(true)), [len(truth) for truth in true])
    targets = np.array([numbers[label] for truth in true for label in truth], int)
    guesses = np.array([numbers.get(answer, len(labels)) for answers in predicted for answer in answers], int)
    right = guesses == targets
    columns = np.concatenate([guesses[right], width + guesses, 2 * width + targets])
    places = np.concatenate([rows[right], rows, rows]), columns
    # A row has few of many labels; equal places add up.
    values = csr_array((np.ones(len(columns)), places), shape=(len(true), 3 * width))
    return RowStatistics(values, functools.partial(_combine_counts, metric))


def set_statistics(metric: str, truth: Array, given: Array) -> RowStatistics | None:
    """The statistics of micro and macro F1 of sets of labels, as `score_sets` defines them; None for another metric.

    `truth` and `given` are True for each label of a row (rows, labels).
    """
    from scipy.sparse import csr_array, hstack

    if metric not in ("micro_f1", "macro_f1"):
        return None
    # No prediction is other than a label.
    none = np.zeros((len(truth), 1), bool)
    sides = [csr_array(side) for count in (truth & given, given, truth) for side in (count, none)]
    return RowStatistics(csr_array(hstack(sides, dtype="float64")), functools.partial(_combine_counts, metric))


def sample_average_precision(truth: Array, shares: Array, counts: Array) -> Array:
    """The mean over labels of the average precision of samples (samples,), as `score_sets` defines it.

    `truth` and `shares` are (rows, labels); `counts` says how often each sample draws each row (samples, rows).
    """
    total, labels = np.zeros(len(counts)), np.zeros(len(counts))
    for flags, probabilities in zip(truth.T, shares.T, strict=True):
        order = np.argsort(-probabilities, kind="stable")
        drawn = counts[:, order]
        positives, ranks = drawn[:, flags[order]], -probabilities[order]
        # The precision at a row is the precision of all rows with at least its probability.
        right, given = (
            np.cumsum(side, axis=1)[:, np.searchsorted(sorted_ranks, ranks[flags[order]], side="right") - 1]
            for side, sorted_ranks in ((positives, ranks[flags[order]]), (drawn, ranks))
        )
        precisions = divide(right, given)
        size = positives.sum(axis=1)
        total += divide((positives * precisions).sum(axis=1), size)
        labels += size > 0
    return np.where(labels > 0, divide(total, labels), np.nan)


def _combine_counts(metric: str, means: Array) -> Array:
    """A metric of the right, predicted and true counts of each label; undefined without any true label.

    Matthews' correlation is that of two labels, of whom each row has one: the covariance of truth and prediction over
    their deviations. It is undefined where all rows have one label.
    """
    # Each has a last column for predictions that are no label.
    right, predicted, true = (means.reshape(*means.shape[:-1], 3, -1)[..., side, :-1] for side in range(3))
    if metric == "accuracy":
        return divide(right.sum(-1), true.sum(-1))
    if metric == "mcc":
        right, predicted, true = (side[..., 1] for side in (right, predicted, true))
        deviations = np.sqrt((predicted * (1 - predicted) * true * (1 - true)).clip(0))
        return np.where((true > 0) & (true < 1), divide(right - predicted * true, deviations), np.nan)
    if metric == "micro_f1":
        scores = divide(2 * right.sum(-1), predicted.sum(-1) + true.sum(-1))
    else:
        scores = divide(divide(2 * right, predicted + true).sum(-1), (predicted + true > 0).sum(-1))
    return np.where(true.any(-1), scores, np.nan)


def number_statistics(metric: str, answers: Sequence[float], truth: Sequence[float]) -> RowStatistics | None:
    """The statistics of Pearson's correlation and of R2; None for another metric, such as one of ranks."""
    if metric not in ("pearson", "r2"):
        return None
    sides = [np.asarray(side, "float64") for side in (answers, truth)]
    errors = sides[0] - sides[1]
    # Centred: squares of numbers far from 0 lose their variance.
    one, other = (side - side.mean() for side in sides)
    values = np.stack([one, other, one * one, other * other, one * other, errors * errors], axis=1)
    return RowStatistics(values, functools.partial(_combine_moments, metric))


def _combine_moments(metric: str, means: Array) -> Array:
    """A correlation with a constant is 0 where answers are alike; it and R2 are undefined where the truth is."""
    one, other, squares, other_squares, products, errors = np.moveaxis(means, -1, 0)
    variance, other_variance = _variance(one, squares), _variance(other, other_squares)
    if metric == "r2":
        scores = 1 - divide(errors, other_variance)
    else:
        scores = divide(products - one * other, np.sqrt(variance * other_variance))
    return np.where(other_variance > 0, scores, np.nan)


def _variance(means: Array, squares: Array) -> Array:
    """The variance from means and mean squares; 0 where it is no more than rounding leaves of equal numbers."""
    variance = squares - means**2
    return np.where(variance > _ROUNDED_VARIANCE * squares, variance, 0.0)


def divide(numerator: Array, denominator: Array) -> Array:
    """Quotients; 0 where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.divide(numerator, denominator, out=np.zeros(shape), where=np.asarray(denominator) > 0)
