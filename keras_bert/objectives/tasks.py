"""The objectives of tasks: their losses and metrics, distances to a teacher, and labels from a teacher's outputs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import keras
import numpy as np
from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.losses import (
    IGNORED,
    binary_cross_entropy,
    correct,
    correct_spans,
    cross_entropy,
    divergence,
    f1_terms,
    span_loss,
    weighted_sums,
)
from keras_bert.core.tensors import Tensor
from keras_bert.layers.attention import MASK_BIAS
from keras_bert.metrics.label_thresholds import HALF, reach_thresholds, with_absence
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective, average_logits
from keras_bert.objectives.class_weights import check_count, check_weights, row_weights, token_weights

# The sum of probabilities that were rounded differs from 1 by this; a probability of 0 has no logarithm.
_ROUNDING, _LEAST_SHARE = 0.02, 1e-6


@dataclasses.dataclass(frozen=True)
class LabelObjective(TaskObjective):
    """An objective of labels with class weights; their number is checked when the loss is measured.

    Attributes:
        class_weights: the weight of each label, in the order of the logits; None for 1. The loss of a row or token is
            multiplied with the weight of its label, and the mean is a weighted mean.
    """

    class_weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_weights(type(self).__name__, self.class_weights)

    def distances(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """`divergence` of the logits (..., labels)."""
        return divergence(outputs, target, temperature)

    def average(self, outputs: Sequence[Array]) -> Array:
        return average_logits(outputs, axis=-1)


@dataclasses.dataclass(frozen=True)
class ClassificationObjective(LabelObjective):
    """Cross-entropy of one label for each row."""

    def loss_weights(self, batch: Batch) -> Tensor:
        return row_weights(batch["label"], self.class_weights)

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The cross-entropies in nats of logits (batch, labels)."""
        check_count(type(self).__name__, self.class_weights, outputs)
        return cross_entropy(outputs, batch["label"])

    def scores(self, outputs: Tensor, batch: Batch) -> Sums:
        """The sum and weight of `accuracy`, which has no class weights."""
        return {"accuracy": weighted_sums(correct(outputs, batch["label"]), row_weights(batch["label"]))}

    def answers_from(self, values: Array) -> Array:
        """Logarithms of probabilities (rows, labels), which add up to 1."""
        sums = _check_shares(self, values).sum(axis=-1, keepdims=True)
        fit = bool(np.all(np.isnan(sums) | (np.abs(sums - 1) <= _ROUNDING)))
        check(type(self).__name__, "probabilities", fit, "add up to 1 in each row", sums.ravel()[:3].round(4).tolist())
        return np.log(np.maximum(values / sums, _LEAST_SHARE)).astype("float32")

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`label` (batch,), the most probable one of logits (batch, labels)."""
        return {"label": outputs.argmax(axis=1)}


@dataclasses.dataclass(frozen=True)
class MultiLabelObjective(LabelObjective):
    """Binary cross-entropy of each label of each row; the class weight of a label counts where a row has it.

    The weight of its absence is 1 (PyTorch's `pos_weight`). The mean is a weighted mean over rows and labels.

    Attributes:
        thresholds: the least probability of each label that `labels_from` and `scores` give, as the task has them; None
            for 0.5.
    """

    thresholds: Sequence[float | None] | None = None

    def loss_weights(self, batch: Batch) -> Tensor:
        """The weights of all labels of all rows, `label` (batch, labels)."""
        targets = ops.cast(batch["label"], "float32")
        if self.class_weights is None:
            return ops.ones_like(targets)
        return 1 + targets * (ops.convert_to_tensor(list(self.class_weights), "float32") - 1)

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The cross-entropies in nats of logits and `label`, 0 or 1, both (batch, labels)."""
        check_count(type(self).__name__, self.class_weights, outputs)
        return binary_cross_entropy(outputs, batch["label"])

    def scores(self, outputs: Tensor, batch: Batch) -> Sums:
        """The sum and weight of `micro_f1`, the F1 of all decisions by `thresholds` together, without class weights.

        Most decisions are that a label is absent, so that an accuracy would be high without any label.
        """
        thresholds = (HALF,) if self.thresholds is None else self.thresholds
        least = np.array([1.0 if threshold is None else threshold for threshold in thresholds])
        with np.errstate(divide="ignore"):
            logits = (np.log(least) - np.log1p(-least)).astype("float32")
        return {"micro_f1": weighted_sums(*f1_terms(ops.cast(outputs, "float32") - logits, batch["label"]))}

    def distances(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """`divergence` of the presence and absence of each label, from logits (batch, labels)."""
        student, teacher = (_with_absence(logits) for logits in (outputs, target))
        return divergence(student, teacher, temperature)

    def average(self, outputs: Sequence[Array]) -> Array:
        """See `TaskObjective.average`; each label has a probability of its own."""
        shares = average_logits([with_absence(logits) for logits in outputs], axis=-1)
        return shares[..., 1] - shares[..., 0]

    def answers_from(self, values: Array) -> Array:
        """Logits of probabilities (rows, labels)."""
        shares = np.clip(_check_shares(self, values), _LEAST_SHARE, 1 - _LEAST_SHARE)
        return np.log(shares / (1 - shares)).astype("float32")

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`label` (batch, labels), 1 for each label whose probability reaches its threshold."""
        thresholds = (HALF,) * outputs.shape[-1] if self.thresholds is None else self.thresholds
        return {"label": reach_thresholds(outputs, thresholds).astype(np.int32)}


def _check_shares(objective: TaskObjective, values: Array) -> Array:
    """Raises ValueError unless the values are probabilities (rows, labels), or NaN."""
    fit = values.ndim == 2 and bool(np.all(np.isnan(values) | ((values >= 0) & (values <= 1))))
    check(type(objective).__name__, "probabilities", fit, "be (rows, labels), each from 0 to 1", values.shape)
    return values


def _with_absence(logits: Tensor) -> Tensor:
    logits = ops.cast(logits, "float32")
    return ops.stack([ops.zeros_like(logits), logits], axis=-1)


@dataclasses.dataclass(frozen=True)
class TokenClassificationObjective(LabelObjective):
    """Cross-entropy of the labelled tokens; `IGNORED` ones weigh 0."""

    has_token_outputs: ClassVar[bool] = True

    def loss_weights(self, batch: Batch) -> Tensor:
        """The class weights of `label` (batch, length), 0 where it is `IGNORED`."""
        return token_weights(batch["label"], self.class_weights)

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The cross-entropies in nats of logits (batch, length, labels), of any label where it is `IGNORED`."""
        check_count(type(self).__name__, self.class_weights, outputs)
        return cross_entropy(outputs, _classes(batch))

    def scores(self, outputs: Tensor, batch: Batch) -> Sums:
        """The sum and weight of `accuracy`, which has no class weights."""
        return {"accuracy": weighted_sums(correct(outputs, _classes(batch)), token_weights(batch["label"]))}

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`label` (batch, length), the most probable one at the first token of each word, `IGNORED` elsewhere."""
        return {"label": np.where(batch["label"] == IGNORED, IGNORED, outputs.argmax(axis=2))}


def _classes(batch: Batch) -> Tensor:
    return ops.maximum(ops.cast(batch["label"], "int32"), 0)


@dataclasses.dataclass(frozen=True)
class _NumberObjective(TaskObjective):
    """The difference of one number from `value` for each row."""

    def loss_weights(self, batch: Batch) -> Tensor:
        return row_weights(batch["value"])

    def scores(self, outputs: Tensor, batch: Batch) -> Sums:
        """The sum and weight of `absolute_error`, in the unit of `value`."""
        return {"absolute_error": weighted_sums(ops.abs(_errors(outputs, batch)), self.loss_weights(batch))}


def _errors(outputs: Tensor, batch: Batch) -> Tensor:
    return ops.reshape(ops.cast(outputs, "float32"), (-1,)) - ops.cast(batch["value"], "float32")


@dataclasses.dataclass(frozen=True)
class RegressionObjective(_NumberObjective):
    """Squared error of one number for each row, in units of the square of the targets' standard deviation.

    Correlations are not sums over rows; `keras_bert.metrics` has them.
    """

    standard_deviation: float = 1.0

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The standardized squared errors of the numbers (batch, 1)."""
        return ops.square(ops.divide(_errors(outputs, batch), self.standard_deviation))

    def distances(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """The standardized squared differences of the numbers (batch, 1); they have no temperature."""
        differences = ops.cast(outputs, "float32") - ops.cast(target, "float32")
        return ops.square(ops.divide(differences[:, 0], self.standard_deviation))

    def answers_from(self, values: Array) -> Array:
        """Numbers (rows,) or (rows, 1) -> (rows, 1)."""
        return np.reshape(values, (-1, 1)).astype("float32")

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`value` (batch,), of numbers (batch, 1)."""
        return {"value": outputs[:, 0]}


@dataclasses.dataclass(frozen=True)
class EmbeddingObjective(_NumberObjective):
    """Squared error of the cosine of two texts' vectors (Reimers and Gurevych 2019, section 3)."""

    def inputs(self, model: keras.Model, batch: Batch) -> dict[str, Any]:
        """The inputs of the first texts, then of the second texts (`second_...`): (2 x batch, length)."""
        names = [spec.name for spec in model.inputs]
        return {name: ops.concatenate([batch[name], batch[f"second_{name}"]]) for name in names}

    def answers(self, outputs: Tensor) -> Tensor:
        """The cosine of each pair (batch,), float32, of the vectors (2 x batch, hidden) of the texts."""
        first, second = ops.split(ops.cast(outputs, "float32"), 2)
        return ops.sum(ops.normalize(first, axis=-1) * ops.normalize(second, axis=-1), axis=-1)

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The squared errors of the cosines (batch,)."""
        return ops.square(_errors(outputs, batch))

    def distances(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """The squared differences of the cosines (batch,), so that teacher and student may differ in width."""
        return ops.square(outputs - target)

    def answers_from(self, values: Array) -> Array:
        """Cosines (rows,)."""
        return np.reshape(values, -1).astype("float32")

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`value` (batch,), the cosines (batch,) themselves."""
        return {"value": outputs}


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringObjective(TaskObjective):
    """Mean of the cross-entropies of the answer's start and end."""

    has_token_outputs: ClassVar[bool] = True
    # An answer never starts or ends at padding.
    padding_output: ClassVar[float] = MASK_BIAS

    def loss_weights(self, batch: Batch) -> Tensor:
        return row_weights(batch["positions"][:, 0])

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The losses in nats of the logits of start and end (batch, length, 2)."""
        return span_loss(batch["positions"], outputs)

    def scores(self, outputs: Tensor, batch: Batch) -> Sums:
        """The sum and weight of `accuracy`, the share of windows with both ends right."""
        return {"accuracy": weighted_sums(correct_spans(batch["positions"], outputs), self.loss_weights(batch))}

    def distances(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """The mean `divergence` of start and end over the tokens, of logits (batch, length, 2)."""
        student, teacher = (ops.transpose(logits, (0, 2, 1)) for logits in (outputs, target))
        return ops.mean(divergence(student, teacher, temperature), axis=-1)

    def average(self, outputs: Sequence[Array]) -> Array:
        return average_logits(outputs, axis=1)

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`positions` (batch, 2), the most probable start and end outside of padding."""
        return {"positions": np.where(batch["padding_mask"][..., None] == 1, outputs, -np.inf).argmax(axis=1)}
