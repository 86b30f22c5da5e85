"""A number for each row."""

import dataclasses
from typing import Any

from keras import ops

from keras_bert.losses import weighted
from keras_bert.objectives.base import Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import row_weights


@dataclasses.dataclass(frozen=True)
class RegressionObjective(TaskObjective):
    """Squared error of one number for each row; correlations are no sums over rows, see `keras_bert.metrics`."""

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the rows."""
        return {"loss": ops.sum(row_weights(batch["value"]))}

    def measure(self, outputs: Any, batch: Batch) -> Sums:
        """Sums and weights of `loss` (the squared error) and `absolute_error`.

        Args:
            outputs: numbers (batch, 1).
            batch: `value` (batch,).
        """
        errors = ops.cast(outputs, "float32")[:, 0] - ops.cast(batch["value"], "float32")
        ones = row_weights(batch["value"])
        return {"loss": weighted(ops.square(errors), ones), "absolute_error": weighted(ops.abs(errors), ones)}

    def distance(self, outputs: Any, wanted: Any, batch: Batch, temperature: float) -> Any:
        """The squared differences of the numbers (batch, 1); they have no temperature."""
        return ops.sum(ops.square(ops.cast(outputs, "float32") - ops.cast(wanted, "float32")))
