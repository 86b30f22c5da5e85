"""The bias from which a new head starts: the logits that the frequencies of the labels give without reading a text.

A head that starts at 0 gives every label the same probability. The first steps then learn the frequencies, and a short
training with rare labels ends before it has learnt more (Lin et al. 2017, "Focal Loss for Dense Object Detection",
section 3.3, start a sigmoid from a prior).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.objectives.class_weights import check_weights

Array = np.ndarray[Any, Any]

# Added to the weight of each side, so that a label of no row or of all rows has a finite logit.
_SMOOTHING = 0.5


def log_frequencies(counts: Sequence[int], class_weights: Sequence[float] | None = None) -> Array:
    """The bias of a softmax: log(weight x count + 1/2) less the mean over the labels.

    Args:
        counts: the number of training rows or words of each label.
        class_weights: the weight of each label in the loss; None for 1. `balanced_class_weights` give a bias of 0.

    Returns:
        (labels,) float32.

    Raises:
        ValueError: a count is negative, or the weights do not fit.
    """
    logits = np.log(_weigh("log_frequencies", counts, class_weights) + _SMOOTHING)
    return (logits - logits.mean()).astype("float32")


def log_odds(counts: Sequence[int], rows: int, class_weights: Sequence[float] | None = None) -> Array:
    """The bias of a sigmoid for each label: log((weight x count + 1/2) / (rows - count + 1/2)).

    Args:
        counts: the number of training rows with each label.
        rows: the number of all training rows.
        class_weights: the weight of the rows with each label in the loss; None for 1. `balanced_positive_weights` give
            a bias of 0.

    Returns:
        (labels,) float32.

    Raises:
        ValueError: a count is negative or above the number of rows, or the weights do not fit.
    """
    present = _weigh("log_odds", counts, class_weights)
    absent = rows - np.asarray(counts, "float64")
    check("log_odds", "counts", bool((absent >= 0).all()), f"be at most the {rows} rows", list(counts))
    return np.log((present + _SMOOTHING) / (absent + _SMOOTHING)).astype("float32")


def _weigh(owner: str, counts: Sequence[int], class_weights: Sequence[float] | None) -> Array:
    """The weight of all rows of each label (labels,)."""
    check(owner, "counts", min(counts, default=0) >= 0, "not be negative", list(counts))
    check_weights(owner, class_weights)
    weights = [1.0] * len(counts) if class_weights is None else list(class_weights)
    check(owner, "class_weights", len(weights) == len(counts), f"be one for each of {len(counts)} labels", weights)
    return np.asarray(counts, "float64") * weights
