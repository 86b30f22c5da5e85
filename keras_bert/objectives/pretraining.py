"""Masked tokens and next sentences."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.losses import cross_entropy, hits, weighted
from keras_bert.objectives.base import Batch, PlainObjective, Sums, call_model


@dataclasses.dataclass(frozen=True)
class PretrainingObjective(PlainObjective):
    """Mean loss of the masked tokens plus, where rows are pairs, mean loss of the next sentences.

    Batches have the model's inputs, `mask_ids` and `mask_weights` (batch, predictions) and, for the second head,
    `next_sentence_label` (batch,).

    Attributes:
        next_sentence: whether the model has the second head.
    """

    next_sentence: bool = True

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The predictions, and the pairs."""
        weights = {"masked_loss": ops.sum(batch["mask_weights"])}
        if self.next_sentence:
            weights["next_sentence_loss"] = ops.sum(ops.ones_like(batch["next_sentence_label"], dtype="float32"))
        return weights

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums and weights of `masked_loss` and `next_sentence_loss` (nats) and of the shares of right answers."""
        logits = call_model(model, batch, training)
        weights = batch["mask_weights"]
        metrics = {
            "masked_loss": weighted(cross_entropy(logits["masked_tokens"], batch["mask_ids"]), weights),
            "masked_accuracy": weighted(hits(logits["masked_tokens"], batch["mask_ids"]), weights),
        }
        if self.next_sentence:
            follows = batch["next_sentence_label"]
            ones = ops.ones_like(follows, dtype="float32")
            metrics["next_sentence_loss"] = weighted(cross_entropy(logits["next_sentence"], follows), ones)
            metrics["next_sentence_accuracy"] = weighted(hits(logits["next_sentence"], follows), ones)
        return metrics
