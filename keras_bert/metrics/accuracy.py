"""Accuracy where some places have no label."""

from typing import Any

import keras
from keras import ops

from keras_bert.losses import IGNORED, hits


class LabelledAccuracy(keras.metrics.Mean):
    """The share of right labels among those that are not `IGNORED`.

    Args:
        name: of the metric in logs.
    """

    def __init__(self, name: str = "accuracy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Labels (...), logits (..., classes), and weights that broadcast to the labels."""
        labels = ops.cast(y_true, "int32")
        weights = ops.cast(ops.not_equal(labels, IGNORED), "float32")
        if sample_weight is not None:
            weights = weights * ops.cast(sample_weight, "float32")
        return super().update_state(hits(y_pred, labels), sample_weight=weights)


class ReplacedAccuracy(LabelledAccuracy):
    """The same for labels 0 and 1, of which a logit above 0 means 1: labels and logits of one shape."""

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Labels and logits (...), and weights that broadcast to them."""
        return super().update_state(y_true, ops.stack([ops.zeros_like(y_pred), y_pred], axis=-1), sample_weight)
