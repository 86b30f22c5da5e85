"""The similarity of two texts as the cosine of their vectors."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.core.losses import weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import row_weights


@dataclasses.dataclass(frozen=True)
class EmbeddingObjective(TaskObjective):
    """Squared error of the cosine of two texts' vectors (Reimers and Gurevych 2019, section 3)."""

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the number of pairs."""
        return {"loss": ops.sum(row_weights(batch["value"]))}

    def inputs(self, model: keras.Model, batch: Batch) -> dict[str, Any]:
        """The inputs of the first texts, then those of the second texts, `second_...`: (2 x batch, length)."""
        names = [spec.name for spec in model.inputs]
        return {name: ops.concatenate([batch[name], batch[f"second_{name}"]]) for name in names}

    def answers(self, outputs: Tensor) -> Tensor:
        """The cosine of each pair (batch,), float32, of the vectors (2 x batch, hidden) of the texts."""
        first, second = ops.split(ops.cast(outputs, "float32"), 2)
        return ops.sum(ops.normalize(first, axis=-1) * ops.normalize(second, axis=-1), axis=-1)

    def measure(self, outputs: Tensor, batch: Batch) -> Sums:
        """Sums and weights of `loss` (squared error) and `absolute_error` of cosines and `value`, both (batch,)."""
        errors, ones = outputs - ops.cast(batch["value"], "float32"), row_weights(batch["value"])
        return {"loss": weighted_sums(ops.square(errors), ones), "absolute_error": weighted_sums(ops.abs(errors), ones)}

    def distance(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """The squared differences of the cosines (batch,), so that teacher and student may differ in width."""
        return ops.sum(ops.square(outputs - target))

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`value` (batch,), the cosines (batch,) themselves."""
        return {"value": outputs}
