"""The encoder with its two pre-training heads (Devlin et al. 2019, section 3.1)."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.encoder import config_of, pooled_output, sequence_output
from keras_bert.layers.dense import Dense
from keras_bert.layers.heads import MaskedTokenTransform, OutputBias
from keras_bert.losses import cross_entropy, hits, mean, weighted


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


def pretraining_objective(
    model: keras.Model, batch: Mapping[str, Any], training: bool
) -> tuple[Any, dict[str, tuple[Any, Any]]]:
    """Mean loss of the masked tokens plus, where the model has that head, mean loss of the next sentences.

    Args:
        model: what `build_pretraining` returns.
        batch: the model's inputs, `mask_ids` and `mask_weights` (batch, predictions), and for the second head
            `next_sentence_label` (batch,).
        training: whether dropout is on.

    Returns:
        The loss, and sums and weights of `masked_loss` and `next_sentence_loss` (nats), `masked_accuracy`
        and `next_sentence_accuracy`.
    """
    logits = model({spec.name: batch[spec.name] for spec in model.inputs}, training=training)
    weights = batch["mask_weights"]
    metrics = {
        "masked_loss": weighted(cross_entropy(logits["masked_tokens"], batch["mask_ids"]), weights),
        "masked_accuracy": weighted(hits(logits["masked_tokens"], batch["mask_ids"]), weights),
    }
    if "next_sentence" not in logits:
        return mean(metrics["masked_loss"]), metrics
    follows = batch["next_sentence_label"]
    ones = ops.ones_like(follows, dtype="float32")
    metrics |= {
        "next_sentence_loss": weighted(cross_entropy(logits["next_sentence"], follows), ones),
        "next_sentence_accuracy": weighted(hits(logits["next_sentence"], follows), ones),
    }
    return mean(metrics["masked_loss"]) + mean(metrics["next_sentence_loss"]), metrics
