"""Weights of classes."""

import math
from collections.abc import Mapping, Sequence

from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.losses import IGNORED
from keras_bert.core.tensors import Tensor


def balanced_class_weights(counts: Sequence[int]) -> list[float]:
    """Weights that give every class the same total weight: n / (classes x count of its rows).

    The formula is that of `compute_class_weight("balanced", ...)` in scikit-learn, over the classes that occur. A class
    without rows gets the weight 1.
    """
    check("balanced_class_weights", "counts", min(counts, default=0) >= 0, "not be negative", list(counts))
    total, classes = sum(counts), sum(count > 0 for count in counts)
    check("balanced_class_weights", "counts", total > 0, "hold a row", list(counts))
    return [total / (classes * count) if count else 1.0 for count in counts]


def balanced_positive_weights(counts: Sequence[int], rows: int) -> list[float]:
    """Weights that give rows with a label the same total weight as rows without it: (rows - count) / count.

    The ratio is that of `compute_class_weight("balanced", ...)` in scikit-learn for each label by itself. A label that
    no row or every row has gets the weight 1.
    """
    fit = min(counts, default=0) >= 0 and max(counts, default=0) <= rows
    check("balanced_positive_weights", "counts", fit, f"be between 0 and the {rows} rows", list(counts))
    return [(rows - count) / count if 0 < count < rows else 1.0 for count in counts]


def check_weights(owner: str, weights: Sequence[float] | None) -> None:
    """Raises ValueError unless all weights are positive and finite."""
    is_mapping = isinstance(weights, Mapping)
    check(owner, "class_weights", not is_mapping, "be numbers in the order of the labels, not a dictionary", weights)
    fit = all(math.isfinite(weight) and weight > 0 for weight in (() if weights is None else weights))
    check(owner, "class_weights", fit, "be positive and finite", weights)


def check_count(owner: str, weights: Sequence[float] | None, logits: Tensor) -> None:
    """Raises ValueError unless there is a weight for each label; the lookup itself would not fail."""
    count = logits.shape[-1]
    fit = weights is None or len(weights) == count
    check(owner, "class_weights", fit, f"be one for each of {count} labels", weights)


def row_weights(labels: Tensor, class_weights: Sequence[float] | None = None) -> Tensor:
    """The weight of each label, float32, in the shape of the labels; 1 without class weights."""
    if class_weights is None:
        return ops.ones_like(labels, dtype="float32")
    return ops.take(ops.convert_to_tensor(list(class_weights), "float32"), ops.cast(labels, "int32"), axis=0)


def token_weights(labels: Tensor, class_weights: Sequence[float] | None = None) -> Tensor:
    """Like `row_weights`, but 0 for labels that are `IGNORED`."""
    labels = ops.cast(labels, "int32")
    counted = ops.cast(ops.not_equal(labels, IGNORED), "float32")
    return counted * row_weights(ops.maximum(labels, 0), class_weights)
