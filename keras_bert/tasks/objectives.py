"""What a trainer minimizes for each task: every metric as (sum, weight), so that a mean over any split is exact."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bert.config import check
from keras_bert.losses import IGNORED, cross_entropy, hits, span_hits, span_loss, weighted
from keras_bert.objectives import Batch, PlainObjective, Sums, call_model


@dataclasses.dataclass(frozen=True)
class ClassificationObjective(PlainObjective):
    """Cross-entropy of one label for each row.

    Attributes:
        class_weights: one for each label, in the order of the logits; None for 1. A row's loss counts as much as its
            label weighs, and the mean is over these weights.

    Raises:
        ValueError: a weight is not positive and finite.
    """

    class_weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        _check_weights(type(self).__name__, self.class_weights)

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the class weights of `label` (batch,) added up."""
        return {"loss": ops.sum(_row_weights(batch["label"], self.class_weights))}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums and weights of `loss` (nats) and `accuracy`, which no class weights touch.

        Args:
            model: from its inputs to logits (batch, labels).
            batch: the model's inputs and `label` (batch,).
            training: whether dropout is on.

        Raises:
            ValueError: there are not as many class weights as labels.
        """
        logits, labels = call_model(model, batch, training), batch["label"]
        _check_count(type(self).__name__, self.class_weights, logits)
        return {
            "loss": weighted(cross_entropy(logits, labels), _row_weights(labels, self.class_weights)),
            "accuracy": weighted(hits(logits, labels), _row_weights(labels, None)),
        }


@dataclasses.dataclass(frozen=True)
class RegressionObjective(PlainObjective):
    """Squared error of one number for each row; correlations are no sums over rows, see `keras_bert.metrics`."""

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the rows."""
        return {"loss": ops.sum(_row_weights(batch["value"], None))}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums and weights of `loss` (the squared error) and `absolute_error`.

        Args:
            model: from its inputs to numbers (batch, 1).
            batch: the model's inputs and `value` (batch,).
            training: whether dropout is on.
        """
        numbers = ops.cast(call_model(model, batch, training), "float32")[:, 0]
        errors, ones = numbers - ops.cast(batch["value"], "float32"), _row_weights(batch["value"], None)
        return {"loss": weighted(ops.square(errors), ones), "absolute_error": weighted(ops.abs(errors), ones)}


@dataclasses.dataclass(frozen=True)
class TokenClassificationObjective(PlainObjective):
    """Cross-entropy of the labelled tokens; those that are `IGNORED` weigh nothing.

    Attributes:
        class_weights: see `ClassificationObjective`.

    Raises:
        ValueError: a weight is not positive and finite.
    """

    class_weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        _check_weights(type(self).__name__, self.class_weights)

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the class weights of `label` (batch, length) added up, without those `IGNORED`."""
        return {"loss": ops.sum(_token_weights(batch["label"], self.class_weights))}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums and weights of `loss` (nats a token) and `accuracy`, which no class weights touch.

        Args:
            model: from its inputs to logits (batch, length, labels).
            batch: the model's inputs and `label` (batch, length), `IGNORED` where there is none.
            training: whether dropout is on.

        Raises:
            ValueError: there are not as many class weights as labels.
        """
        logits, labels = call_model(model, batch, training), batch["label"]
        _check_count(type(self).__name__, self.class_weights, logits)
        known = ops.maximum(ops.cast(labels, "int32"), 0)
        return {
            "loss": weighted(cross_entropy(logits, known), _token_weights(labels, self.class_weights)),
            "accuracy": weighted(hits(logits, known), _token_weights(labels, None)),
        }


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringObjective(PlainObjective):
    """Mean of the cross-entropies of the answer's start and end."""

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the windows."""
        return {"loss": ops.sum(_row_weights(batch["positions"][:, 0], None))}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums and weights of `loss` (nats) and `accuracy`, the windows with both ends right.

        Args:
            model: from its inputs to the logits of start and end (batch, length, 2).
            batch: the model's inputs and `positions` (batch, 2).
            training: whether dropout is on.
        """
        logits, positions = call_model(model, batch, training), batch["positions"]
        ones = _row_weights(positions[:, 0], None)
        return {
            "loss": weighted(span_loss(positions, logits), ones),
            "accuracy": weighted(span_hits(positions, logits), ones),
        }


def balanced_class_weights(counts: Sequence[int]) -> list[float]:
    """Weights with which every class counts as much as any other: n / (classes x count).

    The formula is that of `compute_class_weight("balanced", ...)` in scikit-learn, where the classes are those that
    occur. One that does not occur, which scikit-learn does not know, weighs 1: no training row has it.

    Args:
        counts: rows of each class.

    Raises:
        ValueError: a count is negative, or all are 0.
    """
    check("balanced_class_weights", "counts", min(counts, default=0) >= 0, "not be negative", list(counts))
    total, classes = sum(counts), sum(count > 0 for count in counts)
    check("balanced_class_weights", "counts", total > 0, "hold a row", list(counts))
    return [total / (classes * count) if count else 1.0 for count in counts]


def _check_weights(owner: str, weights: Sequence[float] | None) -> None:
    fit = all(math.isfinite(weight) and weight > 0 for weight in weights or ())
    check(owner, "class_weights", fit, "be positive and finite", weights)


def _check_count(owner: str, weights: Sequence[float] | None, logits: Any) -> None:
    """Raises ValueError unless there is a weight for each label: a lookup would not tell."""
    count = logits.shape[-1]
    check(
        owner, "class_weights", weights is None or len(weights) == count, f"be one for each of {count} labels", weights
    )


def _row_weights(labels: Any, class_weights: Sequence[float] | None) -> Any:
    """The weight of each label, float32, in the shape of the labels."""
    if class_weights is None:
        return ops.ones_like(labels, dtype="float32")
    return ops.take(ops.convert_to_tensor(list(class_weights), "float32"), ops.cast(labels, "int32"), axis=0)


def _token_weights(labels: Any, class_weights: Sequence[float] | None) -> Any:
    """As `_row_weights`, and 0 for what is `IGNORED`."""
    labels = ops.cast(labels, "int32")
    counted = ops.cast(ops.not_equal(labels, IGNORED), "float32")
    return counted * _row_weights(ops.maximum(labels, 0), class_weights)
