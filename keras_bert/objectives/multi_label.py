"""Any number of labels for each row."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_bert.core.losses import binary_cross_entropy, f1_terms, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.metrics.label_thresholds import HALF, reach_thresholds
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import check_count, check_weights
from keras_bert.objectives.divergence import divergence


@dataclasses.dataclass(frozen=True)
class MultiLabelObjective(TaskObjective):
    """Binary cross-entropy of each label of each row.

    Attributes:
        class_weights: the weight of each label where a row has it, in the order of the logits; None for 1, which is
            also the weight of its absence (PyTorch's `pos_weight`). The mean is a weighted mean over rows and labels.
        thresholds: the least probability of each label that `labels_from` gives, as the task has them; None for 0.5.

    Raises:
        ValueError: a weight is not positive and finite.
    """

    class_weights: Sequence[float] | None = None
    thresholds: Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        check_weights(type(self).__name__, self.class_weights)

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the weights of all labels of all rows, `label` (batch, labels), added up."""
        return {"loss": ops.sum(self._label_weights(batch))}

    def measure(self, outputs: Tensor, batch: Batch) -> Sums:
        """Sums and weights of `loss` (nats) and `micro_f1`, that of all decisions together, without class weights.

        Most decisions are that a label is absent, so that an accuracy would be high without any label. Logits and
        `label`, 0 or 1, are (batch, labels).

        Raises:
            ValueError: there are not as many class weights as labels.
        """
        check_count(type(self).__name__, self.class_weights, outputs)
        targets = ops.cast(batch["label"], "float32")
        return {
            "loss": weighted_sums(binary_cross_entropy(outputs, targets), self._label_weights(batch)),
            "micro_f1": weighted_sums(*f1_terms(outputs, targets)),
        }

    def distance(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """`divergence` of the presence and absence of each label, from logits (batch, labels)."""
        student, teacher = (_with_absence(logits) for logits in (outputs, target))
        return ops.sum(divergence(student, teacher, temperature) * self._label_weights(batch))

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`label` (batch, labels), 1 for each label whose probability reaches its threshold."""
        thresholds = (HALF,) * outputs.shape[-1] if self.thresholds is None else self.thresholds
        return {"label": reach_thresholds(outputs, thresholds).astype(np.int32)}

    def _label_weights(self, batch: Batch) -> Tensor:
        targets = ops.cast(batch["label"], "float32")
        if self.class_weights is None:
            return ops.ones_like(targets)
        return 1 + targets * (ops.convert_to_tensor(list(self.class_weights), "float32") - 1)


def _with_absence(logits: Tensor) -> Tensor:
    logits = ops.cast(logits, "float32")
    return ops.stack([ops.zeros_like(logits), logits], axis=-1)
