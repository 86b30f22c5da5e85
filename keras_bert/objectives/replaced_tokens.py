"""Replaced-token detection: a discriminator detects tokens that a generator replaced (Clark et al. 2020)."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.core.losses import replaced_loss, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Batch, PlainObjective, Sums, call_model
from keras_bert.objectives.pretraining import measure_masked
from keras_bert.options.pretraining import Generator


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
