"""A logistic regression on the vectors of a frozen encoder, as the head of a classifier."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np

from keras_bert.core.checks import check
from keras_bert.tasks.base import Array, Features, run_rows
from keras_bert.tasks.checks import check_keras_model
from keras_bert.tasks.classification import TextClassifier
from keras_bert.training.linear_model import fit_linear


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

    The regression has the optimum of scikit-learn's `LogisticRegression`: a multinomial one for one label a row, and
    one for each label where a row may have several.

    `inputs` and `targets` are the results of `task.examples`, `l2` is 1 / C of scikit-learn. `class_weights` has the
    weight of the rows of each label; where a row may have several, that of its rows with the label. None for 1.
    """
    check_keras_model(task, "trained")
    check("fit_logistic_head", "l2", 0 < l2 < float("inf"), "be positive and finite", l2)
    weights = np.ones(len(task.labels)) if class_weights is None else np.asarray(class_weights)
    head, numbers = task.model.get_layer("classifier"), np.asarray(targets)
    vectors = np.stack(run_rows(keras.Model(task.model.input, head.input), inputs, task.positions, batch_size))
    if task.independent_labels:
        flags, row_weights = numbers.astype("float64"), np.where(numbers, weights, 1.0)
        for label, count in zip(task.labels, numbers.sum(axis=0), strict=True):
            rule = f"have the label {label!r} in some, not in all of {len(numbers)} rows"
            check("fit_logistic_head", "targets", 0 < count < len(numbers), rule, int(count))
    else:
        flags, row_weights = np.eye(len(task.labels))[numbers], weights[numbers][:, None]
        present = [task.labels[number] for number in np.unique(numbers)]
        is_whole = len(present) == len(task.labels)
        check("fit_logistic_head", "targets", is_whole, f"hold rows of all of {list(task.labels)}", present)
        if len(present) == 2:
            # scikit-learn has one logit for two labels, the difference of these, with its own penalty.
            l2 *= 2
    assert task.link is not None
    model = fit_linear(vectors.astype("float64"), flags, row_weights, l2, task.link)
    head.kernel.assign(model.kernel)
    head.bias.assign(model.bias)
