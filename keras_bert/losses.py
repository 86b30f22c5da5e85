"""Losses as sums and weights, so that a mean over any number of devices and batches is exact."""

from typing import Any

import keras
from keras import ops

from keras_bert.tensors import Tensor

# The label of tokens without one: padding, special tokens, all tokens of a word but the first.
IGNORED = -1


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """-log softmax(logits)[label], in nats: logits (..., classes), labels int (...) -> (...)."""
    return ops.sparse_categorical_crossentropy(labels, ops.cast(logits, "float32"), from_logits=True)


def correct(logits: Tensor, labels: Tensor) -> Tensor:
    """1 where the largest logit is the label's, else 0: logits (..., classes), labels int (...) -> float32 (...)."""
    return ops.cast(ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32")), "float32")


def weighted(values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Values and weights of one shape -> (sum of the weighted values, sum of the weights)."""
    return ops.sum(values * weights), ops.sum(weights)


def labelled_cross_entropy() -> keras.losses.Loss:
    """A Keras loss: the mean of -log softmax(logits)[label], in nats, over labels that are not `IGNORED`."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=IGNORED)


@keras.saving.register_keras_serializable("keras_bert")
def replaced_loss(labels: Tensor, logits: Tensor) -> Tensor:
    """-log of the probability of each token's label, in nats; sigmoid(logit) is the probability of 1.

    Args:
        labels: 1 for a replaced token, 0 for an original one, `IGNORED` for padding (batch, length).
        logits: (batch, length).

    Returns:
        (batch, length), 0 for `IGNORED` labels; Keras' mean leaves them out.
    """
    both = ops.stack([ops.zeros_like(logits), logits], axis=-1)
    return keras.losses.sparse_categorical_crossentropy(
        ops.cast(labels, "int32"), ops.cast(both, "float32"), from_logits=True, ignore_class=IGNORED
    )


@keras.saving.register_keras_serializable("keras_bert")
class StandardizedSquaredError(keras.losses.Loss):
    """A Keras loss: the squared error of numbers in units of a standard deviation, so that no target is too large.

    Args:
        standard_deviation: standard deviation of the targets, in their unit.
    """

    def __init__(self, standard_deviation: float = 1.0, name: str = "standardized_squared_error", **kwargs: Any):
        super().__init__(name=name, **kwargs)
        self.standard_deviation = standard_deviation

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """True and predicted numbers (batch, 1) -> (batch,)."""
        errors = ops.subtract(ops.cast(y_pred, "float32"), ops.cast(y_true, "float32"))
        return ops.mean(ops.square(ops.divide(errors, self.standard_deviation)), axis=-1)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "standard_deviation": self.standard_deviation}


@keras.saving.register_keras_serializable("keras_bert")
def span_loss(positions: Tensor, logits: Tensor) -> Tensor:
    """Mean of the cross-entropies of start and end, in nats.

    Args:
        positions: the tokens where the answer starts and ends (batch, 2).
        logits: (batch, length, 2).

    Returns:
        (batch,)
    """
    return ops.mean(cross_entropy(ops.transpose(logits, (0, 2, 1)), ops.cast(positions, "int32")), axis=-1)


@keras.saving.register_keras_serializable("keras_bert")
def correct_spans(positions: Tensor, logits: Tensor) -> Tensor:
    """1 where the largest logits are at the answer's start and end, else 0; shapes as in `span_loss`."""
    return ops.min(correct(ops.transpose(logits, (0, 2, 1)), positions), axis=-1)
