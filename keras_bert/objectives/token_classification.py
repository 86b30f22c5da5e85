"""A label for each word."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from keras import ops

from keras_bert.losses import cross_entropy, hits, weighted
from keras_bert.objectives.base import Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import check_count, check_weights, token_weights
from keras_bert.objectives.divergence import divergence


@dataclasses.dataclass(frozen=True)
class TokenClassificationObjective(TaskObjective):
    """Cross-entropy of the labelled tokens; those that are `IGNORED` weigh nothing.

    Attributes:
        class_weights: see `ClassificationObjective`.

    Raises:
        ValueError: a weight is not positive and finite.
    """

    class_weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_weights(type(self).__name__, self.class_weights)

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the class weights of `label` (batch, length) added up, without those `IGNORED`."""
        return {"loss": ops.sum(token_weights(batch["label"], self.class_weights))}

    def measure(self, outputs: Any, batch: Batch) -> Sums:
        """Sums and weights of `loss` (nats a token) and `accuracy`, which no class weights touch.

        Args:
            outputs: logits (batch, length, labels).
            batch: `label` (batch, length), `IGNORED` where there is none.

        Raises:
            ValueError: there are not as many class weights as labels.
        """
        labels = batch["label"]
        check_count(type(self).__name__, self.class_weights, outputs)
        known = ops.maximum(ops.cast(labels, "int32"), 0)
        return {
            "loss": weighted(cross_entropy(outputs, known), token_weights(labels, self.class_weights)),
            "accuracy": weighted(hits(outputs, known), token_weights(labels)),
        }

    def distance(self, outputs: Any, wanted: Any, batch: Batch, temperature: float) -> Any:
        """`divergence` of the labelled tokens' logits (batch, length, labels)."""
        return ops.sum(divergence(outputs, wanted, temperature) * token_weights(batch["label"], self.class_weights))
