"""Masked tokens, next sentences and span boundaries."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.core.losses import correct, cross_entropy, replaced_loss, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.layers.span_boundary import SPAN_POSITIONS, find_boundaries
from keras_bert.objectives.base import Batch, PlainObjective, Sums, call_model
from keras_bert.options.pretraining import Generator


@dataclasses.dataclass(frozen=True)
class PretrainingObjective(PlainObjective):
    """Mean loss of the masked tokens, plus those of the next-sentence and span-boundary heads of a model that has them.

    Batches have the model's inputs, `mask_ids` and `mask_weights` (batch, predictions) and, for the next-sentence head,
    `next_sentence_label` (batch,).
    """

    next_sentence: bool = True
    span_boundary: bool = False

    def weights(self, batch: Batch) -> dict[str, Any]:
        """Losses -> the numbers of predictions, of predictions with a position vector in their span, and of pairs."""
        weights = {"masked_loss": ops.sum(batch["mask_weights"])}
        if self.span_boundary:
            weights["boundary_loss"] = ops.sum(boundary_weights(batch))
        if self.next_sentence:
            weights["next_sentence_loss"] = ops.sum(ops.ones_like(batch["next_sentence_label"], dtype="float32"))
        return weights

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums and weights of the losses (nats) and accuracies."""
        logits = call_model(model, batch, training)
        metrics = measure_masked(logits["masked_tokens"], batch)
        if self.span_boundary:
            labels, weights = batch["mask_ids"], boundary_weights(batch)
            metrics["boundary_loss"] = weighted_sums(cross_entropy(logits["boundary_tokens"], labels), weights)
            metrics["boundary_accuracy"] = weighted_sums(correct(logits["boundary_tokens"], labels), weights)
        if self.next_sentence:
            follows = batch["next_sentence_label"]
            ones = ops.ones_like(follows, dtype="float32")
            metrics["next_sentence_loss"] = weighted_sums(cross_entropy(logits["next_sentence"], follows), ones)
            metrics["next_sentence_accuracy"] = weighted_sums(correct(logits["next_sentence"], follows), ones)
        return metrics


def boundary_weights(batch: Batch) -> Any:
    """1 for a masked token whose position in its span has a vector, else 0, float32 (batch, predictions)."""
    _, _, position = find_boundaries(batch["mask_positions"])
    return ops.multiply(batch["mask_weights"], ops.cast(ops.less(position, SPAN_POSITIONS), "float32"))


def measure_masked(logits: Tensor, batch: Batch) -> Sums:
    """Sums and weights of `masked_loss` and `masked_accuracy`: logits (batch, predictions, vocabulary)."""
    labels, weights = batch["mask_ids"], batch["mask_weights"]
    return {
        "masked_loss": weighted_sums(cross_entropy(logits, labels), weights),
        "masked_accuracy": weighted_sums(correct(logits, labels), weights),
    }


@dataclasses.dataclass(frozen=True)
class ReplacedTokensObjective(PlainObjective):
    """The generator's mean loss of the masked tokens plus `weight` times the discriminator's of all tokens.

    Batches have the inputs of a model of `build_joint`.
    """

    generator: Generator

    def weights(self, batch: Batch) -> dict[str, Any]:
        """Losses -> the predictions, and the tokens divided by `generator.weight`."""
        tokens = ops.sum(ops.cast(batch["padding_mask"], "float32"))
        return {"masked_loss": ops.sum(batch["mask_weights"]), "replaced_loss": tokens / self.generator.weight}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """The sums of `measure_masked` for the generator and of `measure_replaced` for the discriminator."""
        outputs = call_model(model, batch, training)
        detection = measure_replaced(outputs["replaced_tokens"], outputs["is_replaced"], batch["padding_mask"])
        return measure_masked(outputs["masked_tokens"], batch) | detection


def measure_replaced(logits: Tensor, is_replaced: Tensor, padding_mask: Tensor) -> Sums:
    """Sums and weights of the discriminator's loss (nats), accuracy, recall and precision, all of (batch, length).

    `replaced_loss` and `replaced_accuracy` are over all tokens, special ones included, as in the paper's code,
    `replaced_recall` is over the replaced tokens, and `replaced_precision` over the tokens that are predicted as
    replaced.
    """
    tokens, replaced = ops.cast(padding_mask, "float32"), ops.cast(is_replaced, "float32")
    predicted = ops.cast(ops.greater(logits, 0), "float32")
    return {
        "replaced_loss": weighted_sums(replaced_loss(is_replaced, logits), tokens),
        "replaced_accuracy": weighted_sums(ops.cast(ops.equal(predicted, replaced), "float32"), tokens),
        "replaced_recall": weighted_sums(predicted, replaced * tokens),
        "replaced_precision": weighted_sums(replaced, predicted * tokens),
    }
