"""A logistic regression on the vectors of a frozen encoder, as the head of a classifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keras_bert.core.checks import check
from keras_bert.tasks.base import Array, Features, run_rows
from keras_bert.tasks.checks import check_keras_model
from keras_bert.tasks.classification import TextClassifier

# Iterations of L-BFGS; tens suffice.
_MOST_ITERATIONS = 10_000
# The greatest number of the gradient at the end: scikit-learn's default of 1e-4 leaves weights off in the third digit.
_TOLERANCE = 1e-6


def fit_logistic_head(
    task: TextClassifier,
    inputs: Features,
    targets: Array,
    *,
    l2: float = 1.0,
    class_weights: Sequence[float] | None = None,
    batch_size: int = 32,
) -> None:
    """Replaces a classifier's head by a logistic regression on the vectors that it reads; the encoder does not change.

    The regression is scikit-learn's `LogisticRegression`: a multinomial one for one label a row, and one for each label
    where a row may have several. Training stops at its only optimum.

    Args:
        task: a task with a Keras model of `build_classifier`.
        inputs: the model's inputs (rows, length), the first result of `task.examples`.
        targets: the second one: numbers of labels (rows,), or 0 and 1 for each label (rows, labels).
        l2: the penalty of the weights, 1 / C of scikit-learn; above 0.
        class_weights: the weight of the rows of each label; where a row may have several, that of its rows with the
            label. None for 1.
        batch_size: rows of a batch.

    Raises:
        ValueError: the model is an exported file, the penalty is not positive, no row has a label, or all rows do.
    """
    import keras

    check_keras_model(task, "trained")
    check("fit_logistic_head", "l2", 0 < l2 < float("inf"), "be positive and finite", l2)
    weights = np.ones(len(task.labels)) if class_weights is None else np.asarray(class_weights)
    head = task.model.get_layer("classifier")
    vectors = np.stack(run_rows(keras.Model(task.model.input, head.input), inputs, task.positions, batch_size))
    fit = _fit_labels if task.independent_labels else _fit_label
    kernel, bias = fit(vectors.astype("float64"), np.asarray(targets), task.labels, weights, l2)
    head.kernel.assign(kernel)
    head.bias.assign(bias)


def _fit_label(vectors: Array, targets: Array, labels: Sequence[str], weights: Array, l2: float) -> tuple[Array, Array]:
    """Kernel (width, labels) and bias (labels,) of a softmax."""
    present = [labels[number] for number in np.unique(targets)]
    check("fit_logistic_head", "targets", len(present) == len(labels), f"hold rows of all of {list(labels)}", present)
    kernel, bias = _regress(vectors, targets, weights[targets], l2)
    if len(labels) > 2:
        return kernel, bias
    # One logit, which the softmax needs as the difference of two.
    return np.concatenate([-kernel, kernel], axis=1) / 2, np.concatenate([-bias, bias]) / 2


def _fit_labels(
    vectors: Array, targets: Array, labels: Sequence[str], weights: Array, l2: float
) -> tuple[Array, Array]:
    """Kernel (width, labels) and bias (labels,) of a sigmoid for each label."""
    parts = []
    for label, flags, weight in zip(labels, targets.T, weights, strict=True):
        count = int(flags.sum())
        rule = f"have the label {label!r} in some, not in all of {len(flags)} rows"
        check("fit_logistic_head", "targets", 0 < count < len(flags), rule, count)
        parts.append(_regress(vectors, flags, np.where(flags, weight, 1.0), l2))
    kernels, biases = zip(*parts, strict=True)
    return np.concatenate(kernels, axis=1), np.concatenate(biases)


def _regress(vectors: Array, targets: Array, row_weights: Array, l2: float) -> tuple[Array, Array]:
    """Kernel (width, logits) and bias (logits,) of scikit-learn's regression: one logit for two classes."""
    from sklearn.linear_model import LogisticRegression

    regression = LogisticRegression(C=1 / l2, max_iter=_MOST_ITERATIONS, tol=_TOLERANCE)
    regression.fit(vectors, targets, sample_weight=row_weights)
    return regression.coef_.T, regression.intercept_
