"""The objective of several tasks: each batch has rows of one, and says which."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective
from plugins.many_tasks.task import CLOSENESS

# The key of a batch that names its task begins with this.
MARK = "task:"


def task_of(batch: Batch) -> str:
    """The name of the task that a batch has rows of."""
    return next(key for key in batch if key.startswith(MARK)).removeprefix(MARK)


@dataclasses.dataclass(frozen=True)
class ManyObjective(TaskObjective):
    """The objectives of tasks by name, for a model that `join_tasks` made.

    A batch has rows of one task, whose objective alone is measured; its metrics are called `NAME_...`. With several
    tasks each row counts as one in `loss`, whatever the number of its labels or words: a task of tags would decide
    alone else.

    Attributes:
        objectives: the objective of each task.
        shares: a factor of the loss of each task.
    """

    objectives: Mapping[str, TaskObjective]
    shares: Mapping[str, float]

    def identity(self) -> dict[str, Any]:
        """The class, and the identities of all objectives."""
        parts = {name: objective.identity() for name, objective in self.objectives.items()}
        return {"class": type(self).__name__, "objectives": parts, "shares": dict(self.shares)}

    def _of(self, batch: Batch) -> TaskObjective:
        return self.objectives[task_of(batch)]

    def run(self, model: keras.Model, batch: Batch, training: bool) -> Any:
        """The outputs of the batch's task, from its head alone."""
        name = task_of(batch)
        network = keras.Model({spec.name: spec for spec in model.inputs}, model.output[name])
        outputs = self.objectives[name].run(network, batch, training)
        return outputs + ops.cast(self._zero(model, name), outputs.dtype) if training else outputs

    def _zero(self, model: keras.Model, name: str) -> Any:
        """0, with a gradient of 0 for the heads of the other tasks.

        The optimizer takes one step for all weights; a weight without a gradient would be another in each graph.
        """
        others = [model.get_layer(other) for other in self.objectives if other != name]
        weights = [weight for head in others for weight in head.trainable_weights]
        return sum((0.0 * ops.cast(ops.reshape(weight, (-1,))[0], "float32") for weight in weights), ops.zeros(()))

    def loss_weights(self, batch: Batch) -> Tensor:
        """Those of the batch's task; with several tasks they add up to the number of rows."""
        weights = self._of(batch).loss_weights(batch)
        if len(self.objectives) == 1:
            return weights
        rows = ops.cast(ops.shape(weights)[0], "float32")
        return weights * (rows / ops.maximum(ops.sum(weights), 1e-9))

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        return self.shares[task_of(batch)] * self._of(batch).losses(outputs, batch)

    def distances(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        distances = self._of(batch).distances(outputs, target, batch, temperature)
        return self.shares[task_of(batch)] * distances

    def scores(self, outputs: Tensor, batch: Batch) -> Sums:
        """The metrics of the batch's task as `NAME_...`, and its own loss, `NAME_loss`; of several also `CLOSENESS`."""
        name, measured = task_of(batch), self._of(batch).measure(outputs, batch)
        if len(self.objectives) > 1:
            total, weight = measured["loss"]
            measured = {**measured, CLOSENESS: (weight, weight + total)}
        return {f"{name}_{metric}": sums for metric, sums in measured.items()}

    def spread_rows(self, rows: Tensor, batch: Batch) -> Tensor:
        return self._of(batch).spread_rows(rows, batch)

    def average(self, outputs: Sequence[Array]) -> Array:
        raise ValueError("ManyTasks must learn from one teacher, got several: their outputs do not say whose they are")

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        return self._of(batch).labels_from(outputs, batch)
