"""Masked tokens, next sentences and span boundaries."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.layers.span_boundary import PLACES, find_borders
from keras_bert.losses import cross_entropy, hits, weighted
from keras_bert.objectives.base import Batch, PlainObjective, Sums, call_model


@dataclasses.dataclass(frozen=True)
class PretrainingObjective(PlainObjective):
    """Mean loss of the masked tokens plus, where there are such heads, those of next sentences and of span boundaries.

    Batches have the model's inputs, `mask_ids` and `mask_weights` (batch, predictions) and, for the second head,
    `next_sentence_label` (batch,).

    Attributes:
        next_sentence: whether the model has the second head.
        span_boundary: whether it has that of `add_span_boundary`.
    """

    next_sentence: bool = True
    span_boundary: bool = False

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The predictions, the pairs, and the predictions of a place in their span that has a vector."""
        weights = {"masked_loss": ops.sum(batch["mask_weights"])}
        if self.span_boundary:
            weights["boundary_loss"] = ops.sum(boundary_weights(batch))
        if self.next_sentence:
            weights["next_sentence_loss"] = ops.sum(ops.ones_like(batch["next_sentence_label"], dtype="float32"))
        return weights

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums and weights of `masked_loss` and the others (nats) and of the shares of right answers."""
        logits = call_model(model, batch, training)
        metrics = measure_masked(logits["masked_tokens"], batch)
        if self.span_boundary:
            labels, weights = batch["mask_ids"], boundary_weights(batch)
            metrics["boundary_loss"] = weighted(cross_entropy(logits["boundary_tokens"], labels), weights)
            metrics["boundary_accuracy"] = weighted(hits(logits["boundary_tokens"], labels), weights)
        if self.next_sentence:
            follows = batch["next_sentence_label"]
            ones = ops.ones_like(follows, dtype="float32")
            metrics["next_sentence_loss"] = weighted(cross_entropy(logits["next_sentence"], follows), ones)
            metrics["next_sentence_accuracy"] = weighted(hits(logits["next_sentence"], follows), ones)
        return metrics


def boundary_weights(batch: Batch) -> Any:
    """1 for a hidden token whose place in its span has a vector, else 0, float32 (batch, predictions)."""
    _, _, place = find_borders(batch["mask_positions"])
    return ops.multiply(batch["mask_weights"], ops.cast(ops.less(place, PLACES), "float32"))


def measure_masked(logits: Any, batch: Batch) -> Sums:
    """Sums and weights of `masked_loss` and `masked_accuracy`: logits (batch, predictions, vocabulary)."""
    labels, weights = batch["mask_ids"], batch["mask_weights"]
    return {
        "masked_loss": weighted(cross_entropy(logits, labels), weights),
        "masked_accuracy": weighted(hits(logits, labels), weights),
    }
