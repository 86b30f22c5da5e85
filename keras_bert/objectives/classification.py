"""One label for each row."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from keras import ops

from keras_bert.core.losses import correct, cross_entropy, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import check_count, check_weights, row_weights
from keras_bert.objectives.divergence import divergence


@dataclasses.dataclass(frozen=True)
class ClassificationObjective(TaskObjective):
    """Cross-entropy of one label for each row.

    Attributes:
        class_weights: the weight of each label, in the order of the logits; None for 1. The loss of a row is multiplied
            with the weight of its label, and the mean is a weighted mean.

    Raises:
        ValueError: a weight is not positive and finite.
    """

    class_weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_weights(type(self).__name__, self.class_weights)

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the class weights of `label` (batch,) added up."""
        return {"loss": ops.sum(row_weights(batch["label"], self.class_weights))}

    def measure(self, outputs: Tensor, batch: Batch) -> Sums:
        """Sums and weights of `loss` (nats) and `accuracy`, which has no class weights, of logits (batch, labels).

        Raises:
            ValueError: there are not as many class weights as labels.
        """
        labels = batch["label"]
        check_count(type(self).__name__, self.class_weights, outputs)
        return {
            "loss": weighted_sums(cross_entropy(outputs, labels), row_weights(labels, self.class_weights)),
            "accuracy": weighted_sums(correct(outputs, labels), row_weights(labels)),
        }

    def distance(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """`divergence` of the logits (batch, labels)."""
        return ops.sum(divergence(outputs, target, temperature) * row_weights(batch["label"], self.class_weights))

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`label` (batch,), the likeliest one of logits (batch, labels)."""
        return {"label": outputs.argmax(axis=1)}
