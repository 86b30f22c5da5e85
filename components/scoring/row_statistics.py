"""Metrics as functions of means over rows, so that the scores of all samples of the rows are one matrix product."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

    Array = np.ndarray[Any, Any]

# How often each row is drawn (samples, rows) -> scores (samples,); not a number where a score is undefined.
Measure = Callable[["Array"], "Array"]

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
    combine: "Callable[[Array], Array]"

    @classmethod
    def of_scores(cls, scores: Iterable[float]) -> "RowStatistics":
        """The metric that is the mean of a score for each row."""
        import numpy as np

        return cls(np.array([*scores], "float64")[:, None], lambda means: means[..., 0])

    def __call__(self, counts: "Array") -> "Array":
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
    import numpy as np
    from scipy.sparse import csr_array

    combine = {"accuracy": _combine_accuracy, "macro_f1": _combine_macro_f1, "mcc": _combine_mcc}.get(metric)
    if combine is None:
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
    return RowStatistics(csr_array((np.ones(len(columns)), places), shape=(len(true), 3 * width)), combine)


def set_statistics(metric: str, truth: "Array", given: "Array") -> RowStatistics | None:
    """The statistics of micro and macro F1 of sets of labels, as `score_sets` defines them; None for another metric.

    `truth` and `given` are True for each label of a row (rows, labels).
    """
    import numpy as np
    from scipy.sparse import csr_array, hstack

    combine = {"micro_f1": _combine_micro_f1, "macro_f1": _combine_macro_f1}.get(metric)
    if combine is None:
        return None
    # No prediction is other than a label.
    none = np.zeros((len(truth), 1), bool)
    sides = [csr_array(side) for count in (truth & given, given, truth) for side in (count, none)]
    return RowStatistics(csr_array(hstack(sides, dtype="float64")), combine)


def sample_average_precision(truth: "Array", shares: "Array", counts: "Array") -> "Array":
    """The mean over labels of the average precision of samples (samples,), as `score_sets` defines it.

    `truth` and `shares` are (rows, labels); `counts` says how often each sample draws each row (samples, rows).
    """
    import numpy as np

    total, labels = np.zeros(len(counts)), np.zeros(len(counts))
    for flags, probabilities in zip(truth.T, shares.T, strict=True):
        order = np.argsort(-probabilities, kind="stable")
        drawn = counts[:, order]
        positives, ranks = drawn[:, flags[order]], -probabilities[order]
        # The precision at a row is that of all rows with at least its probability.
        right, given = (
            np.cumsum(side, axis=1)[:, np.searchsorted(sorted_ranks, ranks[flags[order]], side="right") - 1]
            for side, sorted_ranks in ((positives, ranks[flags[order]]), (drawn, ranks))
        )
        precisions = divide(right, given)
        size = positives.sum(axis=1)
        total += divide((positives * precisions).sum(axis=1), size)
        labels += size > 0
    return np.where(labels > 0, divide(total, labels), np.nan)


def _combine_micro_f1(means: "Array") -> "Array":
    """Undefined without any true label."""
    import numpy as np

    right, predicted, true = (side.sum(-1) for side in _split_counts(means))
    return np.where(true > 0, divide(2 * right, predicted + true), np.nan)


def _split_counts(means: "Array") -> "tuple[Array, Array, Array]":
    """Right, predicted and true counts of each label (..., labels)."""
    right, predicted, true = (means.reshape(*means.shape[:-1], 3, -1)[..., side, :-1] for side in range(3))
    return right, predicted, true


def _combine_accuracy(means: "Array") -> "Array":
    right, _, true = _split_counts(means)
    return divide(right.sum(-1), true.sum(-1))


def _combine_macro_f1(means: "Array") -> "Array":
    """Undefined without any true label."""
    import numpy as np

    right, predicted, true = _split_counts(means)
    scores = divide(divide(2 * right, predicted + true).sum(-1), (predicted + true > 0).sum(-1))
    return np.where(true.any(-1), scores, np.nan)


def _combine_mcc(means: "Array") -> "Array":
    """Of two labels, of whom each row has one: the covariance of truth and prediction over their deviations.

    Undefined where all rows have one label.
    """
    import numpy as np

    right, predicted, true = (side[..., 1] for side in _split_counts(means))
    variances = predicted * (1 - predicted) * true * (1 - true)
    return np.where((true > 0) & (true < 1), divide(right - predicted * true, np.sqrt(variances.clip(0))), np.nan)


def number_statistics(metric: str, answers: Sequence[float], truth: Sequence[float]) -> RowStatistics | None:
    """The statistics of Pearson's correlation and of R2; None for another metric, such as one of ranks."""
    import numpy as np

    combine = {"pearson": _combine_pearson, "r2": _combine_r2}.get(metric)
    if combine is None:
        return None
    sides = [np.asarray(side, "float64") for side in (answers, truth)]
    errors = sides[0] - sides[1]
    # Centred: squares of numbers far from 0 lose their variance.
    one, other = (side - side.mean() for side in sides)
    return RowStatistics(
        np.stack([one, other, one * one, other * other, one * other, errors * errors], axis=1), combine
    )


def _combine_pearson(means: "Array") -> "Array":
    """A correlation with a constant is 0 where answers are alike, and undefined where the truth is."""
    import numpy as np

    one, other, squares, other_squares, products, _ = np.moveaxis(means, -1, 0)
    variance, other_variance = _variance(one, squares), _variance(other, other_squares)
    scores = divide(products - one * other, np.sqrt(variance * other_variance))
    return np.where(other_variance > 0, scores, np.nan)


def _combine_r2(means: "Array") -> "Array":
    import numpy as np

    _, other, _, other_squares, _, errors = np.moveaxis(means, -1, 0)
    variance = _variance(other, other_squares)
    return np.where(variance > 0, 1 - divide(errors, variance), np.nan)


def _variance(means: "Array", squares: "Array") -> "Array":
    """The variance from means and mean squares; 0 where it is no more than rounding leaves of equal numbers."""
    import numpy as np

    variance = squares - means**2
    return np.where(variance > _ROUNDED_VARIANCE * squares, variance, 0.0)


def divide(numerator: "Array", denominator: "Array") -> "Array":
    """Quotients; 0 where the denominator is 0."""
    import numpy as np

    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.divide(numerator, denominator, out=np.zeros(shape), where=np.asarray(denominator) > 0)
