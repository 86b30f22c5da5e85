"""Replaced tokens: a generator guesses, a discriminator tells its guesses from the text's own (Clark et al. 2020)."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.losses import replaced_loss, weighted
from keras_bert.objectives.base import Batch, PlainObjective, Sums, call_model
from keras_bert.objectives.pretraining import measure_masked
from keras_bert.options.generator import Generator


@dataclasses.dataclass(frozen=True)
class ReplacedTokensObjective(PlainObjective):
    """The generator's mean loss of the masked tokens plus `weight` times the discriminator's of all tokens.

    Batches have the inputs of a model of `build_joint`.

    Attributes:
        generator: its settings.
    """

    generator: Generator

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The predictions, and the tokens, of which each counts for `generator.weight`."""
        tokens = ops.sum(ops.cast(batch["padding_mask"], "float32"))
        return {"masked_loss": ops.sum(batch["mask_weights"]), "replaced_loss": tokens / self.generator.weight}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """As `measure_masked` of the generator and `measure_replaced` of the discriminator."""
        outputs = call_model(model, batch, training)
        told = measure_replaced(outputs["replaced_tokens"], outputs["is_replaced"], batch["padding_mask"])
        return measure_masked(outputs["masked_tokens"], batch) | told


def measure_replaced(logits: Any, is_replaced: Any, padding_mask: Any) -> Sums:
    """Sums and weights of the discriminator's loss (nats) and of how it finds what was replaced.

    Args:
        logits: (batch, length).
        is_replaced: 1 or 0 (batch, length).
        padding_mask: 1 for a token, special ones included, as in the paper's code; 0 for padding (batch, length).

    Returns:
        `replaced_loss`, `replaced_accuracy` over all tokens, and of the replaced ones `replaced_recall`, the share that
        is found, and `replaced_precision`, the share of what is deemed replaced that is.
    """
    tokens, wanted = ops.cast(padding_mask, "float32"), ops.cast(is_replaced, "float32")
    found = ops.cast(ops.greater(logits, 0), "float32")
    return {
        "replaced_loss": weighted(replaced_loss(is_replaced, logits), tokens),
        "replaced_accuracy": weighted(ops.cast(ops.equal(found, wanted), "float32"), tokens),
        "replaced_recall": weighted(found, wanted * tokens),
        "replaced_precision": weighted(wanted, found * tokens),
    }
