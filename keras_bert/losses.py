"""Losses as sums and weights, so that a mean over any number of devices and batches is exact."""

from typing import Any

import keras
from keras import ops

# Stands in place of a label where there is none: padding, special tokens, all but the first piece of a word.
IGNORED = -1


def cross_entropy(logits: Any, labels: Any) -> Any:
    """-log softmax(logits)[label], in nats: logits (..., classes), labels int (...) -> (...)."""
    return ops.sparse_categorical_crossentropy(labels, ops.cast(logits, "float32"), from_logits=True)


def hits(logits: Any, labels: Any) -> Any:
    """1 where the largest logit is the label's, else 0: logits (..., classes), labels int (...) -> float32 (...)."""
    return ops.cast(ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32")), "float32")


def weighted(values: Any, weights: Any) -> tuple[Any, Any]:
    """Values and weights of one shape -> (sum of the weighted values, sum of the weights)."""
    return ops.sum(values * weights), ops.sum(weights)


def labelled_cross_entropy() -> keras.losses.Loss:
    """For `compile`: the mean of -log softmax(logits)[label], in nats, over what is not `IGNORED`."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=IGNORED)


def replaced_loss(labels: Any, logits: Any) -> Any:
    """-log of the probability of a token's label, in nats, without what is `IGNORED`; sigmoid(logit) is that of 1.

    Args:
        labels: 1 for a token that was replaced, 0 for the text's own, `IGNORED` for padding (batch, length).
        logits: (batch, length).

    Returns:
        (batch, length), 0 where nothing is to be said; Keras' mean leaves these places out.
    """
    both = ops.stack([ops.zeros_like(logits), logits], axis=-1)
    return keras.losses.sparse_categorical_crossentropy(
        ops.cast(labels, "int32"), ops.cast(both, "float32"), from_logits=True, ignore_class=IGNORED
    )


def span_loss(positions: Any, logits: Any) -> Any:
    """Mean of the cross-entropies of start and end, in nats.

    Args:
        positions: (batch, 2) tokens where the answer starts and ends.
        logits: (batch, length, 2).

    Returns:
        (batch,)
    """
    return ops.mean(cross_entropy(ops.transpose(logits, (0, 2, 1)), ops.cast(positions, "int32")), axis=-1)


def span_hits(positions: Any, logits: Any) -> Any:
    """1 where the largest logits of start and end are both at the answer's, else 0; shapes as in `span_loss`."""
    return ops.min(hits(ops.transpose(logits, (0, 2, 1)), positions), axis=-1)
