"""Losses, and their sums and weights: with these, a mean over any number of devices and batches is exact."""

from typing import Any

import keras
from keras import ops

from keras_bert.tensors import Tensor

# The label of tokens that the loss ignores: padding, special tokens, and all tokens of a word except the first.
IGNORED = -1


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross-entropy -log softmax(logits)[label], in nats: logits (..., classes), labels int (...) -> (...).

    Examples:
        >>> round(float(cross_entropy(ops.convert_to_tensor([0.0, 0.0]), ops.convert_to_tensor(1))), 4)  # log 2
        0.6931
    """
    return ops.sparse_categorical_crossentropy(labels, ops.cast(logits, "float32"), from_logits=True)


def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The cross-entropy of yes and no, in nats: -log sigmoid(logit) for a target of 1, -log(1 - sigmoid(logit)) for 0.

    Args:
        logits: any shape.
        targets: 0 or 1, in the same shape.

    Returns:
        float32, in the same shape.

    Examples:
        >>> losses = binary_cross_entropy(ops.convert_to_tensor([0.0, 90.0]), ops.convert_to_tensor([1, 0]))
        >>> [round(float(loss), 4) for loss in losses]  # log 2
        [0.6931, 90.0]
    """
    logits = ops.cast(logits, "float32")
    # Keras clips probabilities behind a sigmoid; with logits the loss is exact however large they are.
    return ops.softplus(logits) - logits * ops.cast(targets, "float32")


def correct(logits: Tensor, labels: Tensor) -> Tensor:
    """1 if the label has the largest logit, else 0: logits (..., classes), labels int (...) -> float32 (...).

    Examples:
        >>> np.asarray(correct(ops.convert_to_tensor([[0.1, 0.9], [0.1, 0.9]]), ops.convert_to_tensor([1, 0]))).tolist()
        [1.0, 0.0]
    """
    return ops.cast(ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32")), "float32")


def f1_terms(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Values and weights of decisions, whose weighted mean is their F1: 2 TP / (2 TP + FP + FN).

    Args:
        logits: any shape; a logit above 0 decides for 1.
        targets: 0 or 1, in the same shape.

    Returns:
        1 for a decision for 1 that is right, else 0, and the decision plus the target; float32, in the same shape.

    Examples:
        >>> hits, weights = f1_terms(ops.convert_to_tensor([2.0, 2.0, -2.0]), ops.convert_to_tensor([1, 0, 0]))
        >>> np.asarray(hits).tolist(), np.asarray(weights).tolist()
        ([1.0, 0.0, 0.0], [2.0, 1.0, 0.0])
    """
    given, targets = ops.cast(logits > 0, "float32"), ops.cast(targets, "float32")
    return given * targets, given + targets


def weighted_sums(values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of weighted values and the sum of their weights; both arguments have the same shape.

    Examples:
        >>> total, weight = weighted_sums(ops.convert_to_tensor([2.0, 4.0]), ops.convert_to_tensor([1.0, 0.5]))
        >>> float(total), float(weight)
        (4.0, 1.5)
    """
    return ops.sum(values * weights), ops.sum(weights)


def labelled_cross_entropy() -> keras.losses.Loss:
    """The cross-entropy as a Keras loss: the mean in nats over all labels that are not `IGNORED`.

    Examples:
        >>> loss = labelled_cross_entropy()
        >>> round(float(loss(ops.convert_to_tensor([[1, IGNORED]]), ops.zeros((1, 2, 2)))), 4)  # log 2
        0.6931
    """
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=IGNORED)


@keras.saving.register_keras_serializable("keras_bert")
def replaced_loss(labels: Tensor, logits: Tensor) -> Tensor:
    """The loss of ELECTRA's discriminator: the binary cross-entropy of each token, in nats.

    Args:
        labels: 1 for a replaced token, 0 for an original token, `IGNORED` for padding (batch, length).
        logits: (batch, length).

    Returns:
        (batch, length), 0 for `IGNORED` labels; Keras' mean excludes them.

    Examples:
        >>> labels = ops.convert_to_tensor([[0, 1, IGNORED]])
        >>> [round(float(loss), 4) for loss in replaced_loss(labels, ops.zeros((1, 3)))[0]]  # log 2
        [0.6931, 0.6931, 0.0]
    """
    both = ops.stack([ops.zeros_like(logits), logits], axis=-1)
    return keras.losses.sparse_categorical_crossentropy(
        ops.cast(labels, "int32"), ops.cast(both, "float32"), from_logits=True, ignore_class=IGNORED
    )


@keras.saving.register_keras_serializable("keras_bert")
class StandardizedSquaredError(keras.losses.Loss):
    """The squared error of regression, in units of the targets' standard deviation, as a Keras loss.

    Its size does not depend on the unit of the targets.

    Args:
        standard_deviation: the standard deviation of the targets, in their unit.

    Examples:
        >>> loss = StandardizedSquaredError(standard_deviation=1800.0)
        >>> float(loss(ops.convert_to_tensor([[3400.0]]), ops.convert_to_tensor([[7000.0]])))
        4.0
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
    """The loss of question answering: the mean of the cross-entropies of the answer's start and end, in nats.

    Args:
        positions: the positions of the first and the last token of the answer (batch, 2).
        logits: (batch, length, 2).

    Returns:
        (batch,)

    Examples:
        >>> positions, logits = ops.convert_to_tensor([[1, 2]]), ops.zeros((1, 4, 2))
        >>> round(float(span_loss(positions, logits)[0]), 4)  # log 4: four tokens, all equally likely
        1.3863
    """
    return ops.mean(cross_entropy(ops.transpose(logits, (0, 2, 1)), ops.cast(positions, "int32")), axis=-1)


@keras.saving.register_keras_serializable("keras_bert")
def correct_spans(positions: Tensor, logits: Tensor) -> Tensor:
    """1 if the largest logits are at the answer's start and end, else 0; the shapes are those of `span_loss`.

    Examples:
        >>> logits = ops.convert_to_tensor([[[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]])  # from token 1 to token 2
        >>> np.asarray(correct_spans(ops.convert_to_tensor([[1, 2]]), logits)).tolist()
        [1.0]
    """
    return ops.min(correct(ops.transpose(logits, (0, 2, 1)), positions), axis=-1)
