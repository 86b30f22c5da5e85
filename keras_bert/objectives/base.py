"""What a training minimizes, as sums and weights: the same on one device or many, at once or in parts."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import keras

Batch = Mapping[str, Any]
# Metric -> its sum over a batch, and what to divide it by for its mean.
Sums = dict[str, tuple[Any, Any]]


class Objective(Protocol):
    """The losses of a model on a batch.

    A step minimizes the sum of the losses that `weights` names, each divided by its weight in all parts of the step's
    batch together. That the parts know before they run, since the weights follow from the batch alone.
    """

    def weights(self, batch: Batch) -> dict[str, Any]:
        """Loss -> its weight in this batch, a scalar; a fiftieth of it makes the loss count fifty times."""

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """All metrics of a batch, the losses among them, with their weights, by which a mean is what it says.

        Args:
            model: it is called with those of the batch's entries that are its inputs.
            batch: inputs and labels.
            training: whether dropout is on.
        """

    def identity(self) -> dict[str, Any]:
        """What tells it from other objectives, as plain values: the same in any process."""


@dataclasses.dataclass(frozen=True)
class PlainObjective:
    """What objectives share whose settings are the fields of a dataclass, all plain values."""

    def identity(self) -> dict[str, Any]:
        """The name of the class and the settings."""
        return {"class": type(self).__name__, **dataclasses.asdict(self)}


@dataclasses.dataclass(frozen=True)
class TaskObjective(PlainObjective, abc.ABC):
    """The objective of a task, whose loss is called `loss`; it also tells how far a model is from another one."""

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """See `Objective`."""
        return self.measure(self.run(model, batch, training), batch)

    def run(self, model: keras.Model, batch: Batch, training: bool) -> Any:
        """The outputs that `measure` and `distance` take."""
        return self.answers(model(self.inputs(model, batch), training=training))

    def inputs(self, model: keras.Model, batch: Batch) -> dict[str, Any]:
        """What of a batch the model is called with, by name."""
        return {spec.name: batch[spec.name] for spec in model.inputs}

    def answers(self, outputs: Any) -> Any:
        """What `run` makes of the model's outputs: nothing else, if nothing else is said."""
        return outputs

    @abc.abstractmethod
    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss` in a batch."""

    @abc.abstractmethod
    def measure(self, outputs: Any, batch: Batch) -> Sums:
        """Sums and weights of `loss` and of what else is to be known."""

    @abc.abstractmethod
    def distance(self, outputs: Any, wanted: Any, batch: Batch, temperature: float) -> Any:
        """How far outputs are from those of a teacher, summed over the batch as `loss` is; a scalar.

        Args:
            outputs: what `run` gave for the student.
            wanted: what it gave for the teacher.
            batch: of both.
            temperature: divides logits, where there are any.
        """


def call_model(model: keras.Model, batch: Batch, training: bool) -> Any:
    """The model's outputs for those entries of a batch that are its inputs, found by their names."""
    return model({spec.name: batch[spec.name] for spec in model.inputs}, training=training)


def add_up(parts: Sequence[Sums]) -> dict[str, tuple[float, float]]:
    """The sums and weights of each metric over several batches."""
    return {
        name: (sum(float(sums[name][0]) for sums in parts), sum(float(sums[name][1]) for sums in parts))
        for name in parts[0]
    }


def averages(window: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """The mean of each metric over steps; of those alone that had weight, as masked tokens have not in every batch."""
    names = window[0] if window else {}
    totals = {name: [sum(sums[name][place] for sums in window) for place in (0, 1)] for name in names}
    return {name: total / weight for name, (total, weight) in totals.items() if weight}


def means(window: Sequence[Sums]) -> dict[str, float]:
    """The mean of each metric over batches."""
    return averages([add_up(window)])
