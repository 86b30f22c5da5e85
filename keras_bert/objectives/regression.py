"""A number for each row."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from keras import ops

from keras_bert.core.losses import weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import row_weights


@dataclasses.dataclass(frozen=True)
class RegressionObjective(TaskObjective):
    """Squared error of one number for each row, in units of the square of the targets' standard deviation.

    Correlations are no sums over rows; `keras_bert.metrics` has them.
    """

    standard_deviation: float = 1.0

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the number of rows."""
        return {"loss": ops.sum(row_weights(batch["value"]))}

    def measure(self, outputs: Tensor, batch: Batch) -> Sums:
        """Sums and weights of `loss` (the standardized squared error) and `absolute_error`, in the targets' unit."""
        errors = ops.cast(outputs, "float32")[:, 0] - ops.cast(batch["value"], "float32")
        ones = row_weights(batch["value"])
        squares = ops.square(ops.divide(errors, self.standard_deviation))
        return {"loss": weighted_sums(squares, ones), "absolute_error": weighted_sums(ops.abs(errors), ones)}

    def distance(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """The standardized squared differences of the numbers (batch, 1); they have no temperature."""
        differences = ops.cast(outputs, "float32") - ops.cast(target, "float32")
        return ops.sum(ops.square(ops.divide(differences, self.standard_deviation)))

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`value` (batch,), of numbers (batch, 1)."""
        return {"value": outputs[:, 0]}
