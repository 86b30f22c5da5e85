"""The encoder with its two pre-training heads (Devlin et al. 2019, section 3.1)."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.encoder import config_of, pooled_output, sequence_output
from keras_bert.layers.dense import Dense
from keras_bert.layers.heads import MaskedTokenTransform, OutputBias
from keras_bert.losses import cross_entropy, hits, weighted
from keras_bert.objectives import Batch, PlainObjective, Sums, call_model


def build_pretraining(encoder: keras.Model, *, next_sentence: bool = True) -> keras.Model:
    """Puts the heads on an encoder that predict masked tokens and whether B follows A.

    Args:
        encoder: what `build_encoder` returns; its weights are shared, not copied.
        next_sentence: whether there is the second head, which needs an encoder with a pooler.

    Returns:
        A model from the encoder's inputs and `mask_positions` int32 (batch, predictions) to `masked_tokens`
        (batch, predictions, vocabulary) and, with the second head, `next_sentence` (batch, 2), both logits.

    Raises:
        ValueError: the second head is wanted and the encoder has no pooler.
    """
    config = config_of(encoder)
    mask_positions = keras.Input((None,), dtype="int32", name="mask_positions")
    transform = MaskedTokenTransform(
        config.activation, config.layer_norm_epsilon, config.initializer_range, name="masked_token_transform"
    )
    chosen = transform(sequence_output(encoder), mask_positions)
    scores = encoder.get_layer("token_embedding")(chosen, reverse=True)
    logits = {"masked_tokens": OutputBias(name="masked_token_bias")(scores)}
    if next_sentence:
        logits["next_sentence"] = Dense(2, config.initializer_range, name="next_sentence")(pooled_output(encoder))
    return keras.Model({**encoder.input, "mask_positions": mask_positions}, logits, name="pretraining")


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
