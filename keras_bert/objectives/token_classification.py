"""A label for each word."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from keras import ops

from keras_bert.core.losses import IGNORED, correct, cross_entropy, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import check_count, check_weights, token_weights
from keras_bert.objectives.divergence import divergence


@dataclasses.dataclass(frozen=True)
class TokenClassificationObjective(TaskObjective):
    """Cross-entropy of the labelled tokens with weights of `ClassificationObjective`; `IGNORED` ones weigh 0.

    Raises:
        ValueError: a weight is not positive and finite.
    """

    has_token_outputs: ClassVar[bool] = True

    class_weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_weights(type(self).__name__, self.class_weights)

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the class weights of `label` (batch, length) added up, without those `IGNORED`."""
        return {"loss": ops.sum(token_weights(batch["label"], self.class_weights))}

    def measure(self, outputs: Tensor, batch: Batch) -> Sums:
        """Sums and weights of `loss` (nats per token) and `accuracy`, which has no class weights.

        Logits are (batch, length, labels); `label` (batch, length) is `IGNORED` where there is none.

        Raises:
            ValueError: there are not as many class weights as labels.
        """
        labels = batch["label"]
        check_count(type(self).__name__, self.class_weights, outputs)
        classes = ops.maximum(ops.cast(labels, "int32"), 0)
        return {
            "loss": weighted_sums(cross_entropy(outputs, classes), token_weights(labels, self.class_weights)),
            "accuracy": weighted_sums(correct(outputs, classes), token_weights(labels)),
        }

    def distance(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """`divergence` of the labelled tokens' logits (batch, length, labels)."""
        return ops.sum(divergence(outputs, target, temperature) * token_weights(batch["label"], self.class_weights))

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`label` (batch, length), the likeliest one at the first token of each word, `IGNORED` elsewhere."""
        return {"label": np.where(batch["label"] == IGNORED, IGNORED, outputs.argmax(axis=2))}
