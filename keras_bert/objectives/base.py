"""Objectives: losses and metrics as sums and weights, equal on one device or many, in one batch or in parts."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import keras
import numpy as np
from keras import ops

from keras_bert.core.losses import weighted_sums
from keras_bert.core.tensors import Tensor

Array = np.ndarray[Any, Any]
Batch = Mapping[str, Any]
# A probability of 0 has no logarithm.
_LEAST_SHARE = 1e-30
# Metric -> its sum over a batch, and the weight that the sum is divided by for the mean.
Sums = dict[str, tuple[Any, Any]]


class Objective(Protocol):
    """The losses of a model on a batch.

    A training step minimizes the sum of the losses that `weights` names, each divided by its weight in the whole batch
    of the step. The parts of a batch know that weight before they run, since it only depends on the batch.
    """

    def weights(self, batch: Batch) -> dict[str, Any]:
        """Loss -> its weight in this batch, a scalar that divides the loss: a smaller weight gives a larger loss."""

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Runs the model on a batch and returns the sums and weights of all metrics, the losses among them.

        The model reads the entries of the batch with the names of its inputs; `training` turns dropout on.
        """

    def identity(self) -> dict[str, Any]:
        """The class and its settings as plain values, equal for equal objectives in any process."""


@dataclasses.dataclass(frozen=True)
class PlainObjective:
    """An objective whose settings are the fields of a dataclass, all plain values."""

    def identity(self) -> dict[str, Any]:
        """The name of the class and the settings."""
        return {"class": type(self).__name__, **dataclasses.asdict(self)}


@dataclasses.dataclass(frozen=True)
class TaskObjective(PlainObjective, abc.ABC):
    """The objective of a task, whose loss is called `loss`; it also compares a model with its teacher.

    Attributes:
        has_token_outputs: whether the outputs of `run` run along the tokens (batch, length, ...).
        padding_output: the value of these outputs at padding.
        has_labels: whether the rows have labels besides the outputs of a teacher.
    """

    has_token_outputs: ClassVar[bool] = False
    padding_output: ClassVar[float] = 0.0
    has_labels: ClassVar[bool] = True

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """See `Objective`."""
        return self.measure(self.run(model, batch, training), batch)

    def run(self, model: keras.Model, batch: Batch, training: bool) -> Any:
        """The outputs that `measure` and `distance` take."""
        return self.answers(model(self.inputs(model, batch), training=training))

    def inputs(self, model: keras.Model, batch: Batch) -> dict[str, Any]:
        """The entries of a batch that are the model's inputs, by name."""
        return {spec.name: batch[spec.name] for spec in model.inputs}

    def answers(self, outputs: Tensor) -> Tensor:
        """The model's outputs in the form that `run` returns; unchanged by default."""
        return outputs

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss` in a batch: the weights of `loss_weights` added up."""
        return {"loss": ops.sum(self.loss_weights(batch))}

    @abc.abstractmethod
    def loss_weights(self, batch: Batch) -> Tensor:
        """The weight of each row, label or token in `loss`."""

    def measure(self, outputs: Tensor, batch: Batch) -> Sums:
        """Sums and weights of `loss` and of the further metrics."""
        loss = weighted_sums(self.losses(outputs, batch), self.loss_weights(batch))
        return {"loss": loss, **self.scores(outputs, batch)}

    @abc.abstractmethod
    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The loss of each row, label or token, in the shape of `loss_weights`."""

    def scores(self, outputs: Tensor, batch: Batch) -> Sums:
        """Sums and weights of further metrics; none by default."""
        return {}

    @abc.abstractmethod
    def distances(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """The distances of a student's from its teacher's outputs of `run`, in the shape of `loss_weights`.

        The temperature divides logits; outputs that are not logits ignore it.
        """

    def spread_rows(self, rows: Tensor, batch: Batch) -> Tensor:
        """A number of each row (batch,) for each element of `loss_weights`, in a shape that broadcasts with it."""
        rank = len(ops.shape(self.loss_weights(batch)))
        return ops.reshape(rows, (-1, *[1] * (rank - 1)))

    def answers_from(self, values: Array) -> Array:
        """The outputs of `run` that a teacher's probabilities or numbers stand for, NaN where it gave none."""
        raise ValueError(f"{type(self).__name__} has no answers that could be given as an array")

    def average(self, outputs: Sequence[Array]) -> Array:
        """The outputs of `run` of several teachers as one: the mean, for logits the mean of the probabilities.

        Arrays (batch, ...) of equal shapes -> (batch, ...).
        """
        return np.mean(outputs, axis=0)

    @abc.abstractmethod
    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """The labels that a teacher's outputs of `run` give the rows of a batch: features of the task's records.

        The batch has the rows' own labels if these also mark positions.
        """


def call_model(model: keras.Model, batch: Batch, training: bool) -> Any:
    """Calls a model with the entries of a batch that have the names of its inputs."""
    return model({spec.name: batch[spec.name] for spec in model.inputs}, training=training)


def average_logits(logits: Sequence[Array], axis: int) -> Array:
    """The logarithms of the mean of the softmaxes along an axis: of arrays of equal shapes -> one of that shape."""
    stacked = np.asarray(logits, "float64")
    axis = axis % logits[0].ndim + 1
    shares = np.exp(stacked - stacked.max(axis=axis, keepdims=True))
    mean = (shares / shares.sum(axis=axis, keepdims=True)).mean(axis=0)
    return np.log(np.maximum(mean, _LEAST_SHARE)).astype("float32")


def add_up(parts: Sequence[Mapping[str, Sequence[Any]]]) -> dict[str, tuple[float, float]]:
    """The sums and weights of each metric over several batches, some of which may lack it."""
    names = dict.fromkeys(name for sums in parts for name in sums)
    pairs = {name: [sums[name] for sums in parts if name in sums] for name in names}
    return {
        name: (sum(float(total) for total, _ in values), sum(float(weight) for _, weight in values))
        for name, values in pairs.items()
    }


def averages(window: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """The mean of each metric over steps; metrics without weight, as in batches without masked tokens, are left out."""
    return {name: total / weight for name, (total, weight) in add_up(window).items() if weight}


def means(window: Sequence[Sums]) -> dict[str, float]:
    """The mean of each metric over batches."""
    return averages([add_up(window)])
