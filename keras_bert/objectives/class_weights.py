"""Class weights: the weight of each label's rows in the loss."""

import math
from collections.abc import Sequence

from keras import ops

from keras_bert.checks import check
from keras_bert.losses import IGNORED
from keras_bert.tensors import Tensor


def balanced_class_weights(counts: Sequence[int]) -> list[float]:
    """Weights that give every class the same total weight: n / (classes x count).

    The formula is that of `compute_class_weight("balanced", ...)` in scikit-learn, over the classes that occur. A class
    without rows gets the weight 1.

    Args:
        counts: number of rows of each class.

    Raises:
        ValueError: a count is negative, or all are 0.

    Examples:
        >>> balanced_class_weights([6, 2])
        [0.6666666666666666, 2.0]
    """
    check("balanced_class_weights", "counts", min(counts, default=0) >= 0, "not be negative", list(counts))
    total, classes = sum(counts), sum(count > 0 for count in counts)
    check("balanced_class_weights", "counts", total > 0, "hold a row", list(counts))
    return [total / (classes * count) if count else 1.0 for count in counts]


def balanced_positive_weights(counts: Sequence[int], rows: int) -> list[float]:
    """Weights that make the rows with a label weigh as much as those without it: (rows - count) / count.

    The ratio is that of `compute_class_weight("balanced", ...)` in scikit-learn for each label by itself. A label that
    no row or every row has gets the weight 1.

    Args:
        counts: number of rows with each label.
        rows: number of all rows.

    Raises:
        ValueError: a count is negative, or there are fewer rows than that.

    Examples:
        >>> balanced_positive_weights([2, 4, 0], rows=8)
        [3.0, 1.0, 1.0]
    """
    fit = min(counts, default=0) >= 0 and max(counts, default=0) <= rows
    check("balanced_positive_weights", "counts", fit, f"be between 0 and the {rows} rows", list(counts))
    return [(rows - count) / count if 0 < count < rows else 1.0 for count in counts]


def check_weights(owner: str, weights: Sequence[float] | None) -> None:
    """Raises ValueError unless all weights are positive and finite.

    Examples:
        >>> check_weights("Loss", [1.0, 0.0])
        Traceback (most recent call last):
        ...
        keras_bert.checks.FieldError: Loss.class_weights must be positive and finite, got [1.0, 0.0]
    """
    fit = all(math.isfinite(weight) and weight > 0 for weight in weights or ())
    check(owner, "class_weights", fit, "be positive and finite", weights)


def check_count(owner: str, weights: Sequence[float] | None, logits: Tensor) -> None:
    """Raises ValueError unless there is a weight for each label; a lookup beyond the last weight raises nothing.

    Examples:
        >>> check_count("Loss", [1.0, 2.0], ops.zeros((1, 3)))
        Traceback (most recent call last):
        ...
        keras_bert.checks.FieldError: Loss.class_weights must be one for each of 3 labels, got [1.0, 2.0]
    """
    count = logits.shape[-1]
    fit = weights is None or len(weights) == count
    check(owner, "class_weights", fit, f"be one for each of {count} labels", weights)


def row_weights(labels: Tensor, class_weights: Sequence[float] | None = None) -> Tensor:
    """The weight of each label, float32, in the shape of the labels; 1 without class weights.

    Examples:
        >>> np.asarray(row_weights(ops.convert_to_tensor([1, 0, 1]), [0.5, 2.0])).tolist()
        [2.0, 0.5, 2.0]
    """
    if class_weights is None:
        return ops.ones_like(labels, dtype="float32")
    return ops.take(ops.convert_to_tensor(list(class_weights), "float32"), ops.cast(labels, "int32"), axis=0)


def token_weights(labels: Tensor, class_weights: Sequence[float] | None = None) -> Tensor:
    """The weights of `row_weights`, but 0 for labels that are `IGNORED`.

    Examples:
        >>> np.asarray(token_weights(ops.convert_to_tensor([[1, IGNORED, 0]]), [0.5, 2.0])).tolist()
        [[2.0, 0.0, 0.5]]
    """
    labels = ops.cast(labels, "int32")
    counted = ops.cast(ops.not_equal(labels, IGNORED), "float32")
    return counted * row_weights(ops.maximum(labels, 0), class_weights)
