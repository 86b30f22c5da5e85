"""Metrics of decisions during training: accuracy over labelled tokens, and F1 over labels of texts."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.losses import IGNORED, correct, f1_terms
from keras_bert.core.tensors import Tensor


@keras.saving.register_keras_serializable("keras_bert")
class LabelledAccuracy(keras.metrics.Mean):
    """The accuracy over all labels that are not `IGNORED`, as a Keras metric.

    Examples:
        >>> metric = LabelledAccuracy()
        >>> logits = ops.convert_to_tensor([[[0.1, 0.9], [0.1, 0.9], [0.1, 0.9]]])
        >>> float(metric(ops.convert_to_tensor([[1, 0, IGNORED]]), logits))
        0.5
    """

    def __init__(self, name: str = "accuracy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor = None) -> Tensor:
        """Labels (...), logits (..., classes), and weights that broadcast to the labels."""
        labels = ops.cast(y_true, "int32")
        weights = ops.cast(ops.not_equal(labels, IGNORED), "float32")
        if sample_weight is not None:
            weights = weights * ops.cast(sample_weight, "float32")
        return super().update_state(correct(y_pred, labels), sample_weight=weights)


@keras.saving.register_keras_serializable("keras_bert")
class ReplacedAccuracy(LabelledAccuracy):
    """The accuracy of ELECTRA's discriminator, as a Keras metric: labels are 0 or 1, and a logit above 0 predicts 1.

    Examples:
        >>> labels, logits = ops.convert_to_tensor([[1, 0, IGNORED]]), ops.convert_to_tensor([[2.0, 2.0, 2.0]])
        >>> float(ReplacedAccuracy()(labels, logits))
        0.5
    """

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor = None) -> Tensor:
        """Labels and logits (...), and weights that broadcast to them."""
        return super().update_state(y_true, ops.stack([ops.zeros_like(y_pred), y_pred], axis=-1), sample_weight)


@keras.saving.register_keras_serializable("keras_bert")
class MicroF1(keras.metrics.Mean):
    """F1 over all labels of all rows together, as a Keras metric: labels are 0 or 1, and a logit above 0 gives a label.

    Examples:
        >>> flags, logits = ops.convert_to_tensor([[1, 0, 1]]), ops.convert_to_tensor([[2.0, 2.0, -2.0]])
        >>> float(MicroF1()(flags, logits))
        0.5
    """

    def __init__(self, name: str = "micro_f1", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor = None) -> Tensor:
        """Labels and logits (...), and weights that broadcast to them."""
        hits, weights = f1_terms(y_pred, y_true)
        if sample_weight is not None:
            weights = weights * ops.cast(sample_weight, "float32")
        return super().update_state(hits, sample_weight=weights)
