"""Classification of a text or of a pair of texts (Devlin et al. 2019, section 4.1)."""

from collections.abc import Mapping
from typing import Any, get_args

import keras
from keras import ops

from keras_bert.config import Pooling
from keras_bert.layers.dense import Dense
from keras_bert.layers.heads import MeanPooler
from keras_bert.losses import cross_entropy, hits, mean, weighted


def build_classifier(
    encoder: keras.Model, num_labels: int, *, pooling: Pooling = "cls", dropout: float = 0.1
) -> keras.Model:
    """Puts a linear classifier on one vector for the whole text.

    Args:
        encoder: what `build_encoder` returns; its weights are shared, not copied.
        num_labels: classes, at least 2.
        pooling: `cls` takes the pooled output, as BERT does; `mean` the mean of the token states, which a
            shortly trained encoder needs: its first token has not yet learnt to look at the others.
        dropout: rate on the pooled output.

    Returns:
        A model from the encoder's inputs to logits (batch, num_labels).

    Raises:
        ValueError: there are fewer than 2 labels, or there is no such pooling.
    """
    if num_labels < 2:
        raise ValueError(f"num_labels must be at least 2, got {num_labels}")
    if pooling not in get_args(Pooling):
        raise ValueError(f"pooling must be one of {get_args(Pooling)}, got {pooling!r}")
    pooled = encoder.output["pooled_output"]
    if pooling == "mean":
        pooled = MeanPooler(name="mean_pooler")(encoder.output["sequence_output"], encoder.input["padding_mask"])
    pooled = keras.layers.Dropout(dropout, name="classifier_dropout")(pooled)
    return keras.Model(encoder.input, Dense(num_labels, name="classifier")(pooled), name="classification")


def classification_objective(
    model: keras.Model, batch: Mapping[str, Any], training: bool
) -> tuple[Any, dict[str, tuple[Any, Any]]]:
    """Mean cross-entropy of the labels.

    Args:
        model: what `build_classifier` returns.
        batch: the model's inputs and `label` (batch,).
        training: whether dropout is on.

    Returns:
        The loss, and sums and weights of `loss` (nats) and `accuracy`.
    """
    logits = model({spec.name: batch[spec.name] for spec in model.inputs}, training=training)
    ones = ops.ones_like(batch["label"], dtype="float32")
    metrics = {
        "loss": weighted(cross_entropy(logits, batch["label"]), ones),
        "accuracy": weighted(hits(logits, batch["label"]), ones),
    }
    return mean(metrics["loss"]), metrics
