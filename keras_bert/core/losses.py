"""Losses, and their sums and weights: with these, a mean over any number of devices and batches is exact."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor

# The label of tokens that the loss ignores: padding, special tokens, and all tokens of a word except the first.
IGNORED = -1


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross-entropy -log softmax(logits)[label], in nats: logits (..., classes), labels int (...) -> (...)."""
    return ops.sparse_categorical_crossentropy(labels, ops.cast(logits, "float32"), from_logits=True)


def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The cross-entropy of yes and no, in nats: -log sigmoid(logit) for a target of 1, -log(1 - sigmoid(logit)) for 0.

    Logits, targets (0 or 1) and the result (float32) have the same shape.
    """
    logits = ops.cast(logits, "float32")
    # Keras clips probabilities behind a sigmoid; with logits the loss is exact however large they are.
    return ops.softplus(logits) - logits * ops.cast(targets, "float32")


def correct(logits: Tensor, labels: Tensor) -> Tensor:
    """1 if the label has the largest logit, else 0: logits (..., classes), labels int (...) -> float32 (...)."""
    return ops.cast(ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32")), "float32")


def f1_terms(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Values and weights of decisions, whose weighted mean is their F1: 2 TP / (2 TP + FP + FN).

    A logit above 0 decides for 1. The value is 1 for a decision for 1 that is right, else 0; the weight is the decision
    plus the target, 0 or 1. All have the shape of the logits.
    """
    given, targets = ops.cast(logits > 0, "float32"), ops.cast(targets, "float32")
    return given * targets, given + targets


def weighted_sums(values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of weighted values and the sum of their weights; both arguments have the same shape."""
    return ops.sum(values * weights), ops.sum(weights)


def labelled_cross_entropy() -> keras.losses.Loss:
    """The cross-entropy as a Keras loss: the mean in nats over all labels that are not `IGNORED`."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=IGNORED)


@keras.saving.register_keras_serializable("keras_bert")
def replaced_loss(labels: Tensor, logits: Tensor) -> Tensor:
    """The loss of ELECTRA's discriminator: the binary cross-entropy of each token, in nats, (batch, length).

    Labels are 1 for a replaced token, 0 for an original one, and `IGNORED` for padding, whose loss is 0: Keras' mean
    excludes it.
    """
    both = ops.stack([ops.zeros_like(logits), logits], axis=-1)
    return keras.losses.sparse_categorical_crossentropy(
        ops.cast(labels, "int32"), ops.cast(both, "float32"), from_logits=True, ignore_class=IGNORED
    )


@keras.saving.register_keras_serializable("keras_bert")
class StandardizedSquaredError(keras.losses.Loss):
    """The squared error of regression, in units of the targets' standard deviation, as a Keras loss."""

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
    """Mean cross-entropy of an answer's start and end, in nats: (batch, 2), (batch, length, 2) -> (batch,)."""
    return ops.mean(cross_entropy(ops.transpose(logits, (0, 2, 1)), ops.cast(positions, "int32")), axis=-1)


@keras.saving.register_keras_serializable("keras_bert")
def correct_spans(positions: Tensor, logits: Tensor) -> Tensor:
    """1 if the largest logits are at the answer's start and end, else 0; the shapes are those of `span_loss`."""
    return ops.min(correct(ops.transpose(logits, (0, 2, 1)), positions), axis=-1)


def divergence(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """T^2 KL(teacher || student) of both softmaxes at temperature T, in nats: twice (..., classes) -> (...).

    T^2 keeps the gradients as large as those of the true labels (Hinton et al. 2015, section 2).
    """
    student = ops.log_softmax(ops.cast(student_logits, "float32") / temperature, axis=-1)
    teacher = ops.log_softmax(ops.cast(teacher_logits, "float32") / temperature, axis=-1)
    return temperature**2 * ops.sum(ops.exp(teacher) * (teacher - student), axis=-1)
