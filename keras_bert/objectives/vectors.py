"""The objective of texts without labels: a student's vectors are those of its teacher (Reimers and Gurevych 2020)."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Array, Batch, TaskObjective
from keras_bert.objectives.class_weights import row_weights
from keras_bert.objectives.imitation import cosines, squared_difference


@dataclasses.dataclass(frozen=True)
class VectorObjective(TaskObjective):
    """The distance of the vectors of texts, which have no labels.

    Attributes:
        keeps_lengths: whether the distance is the mean over the width of the squared difference, for vectors whose
            lengths count; if not, it is 1 - cosine.
    """

    has_labels: ClassVar[bool] = False

    keeps_lengths: bool = False

    def loss_weights(self, batch: Batch) -> Tensor:
        """1 for each text."""
        return row_weights(batch["padding_mask"][:, 0])

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """0 for each text, as it has no label."""
        return ops.zeros_like(self.loss_weights(batch))

    def distances(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """The distances of vectors (batch, width) of a student and a teacher; they have no temperature."""
        return squared_difference(outputs, target) if self.keeps_lengths else 1.0 - cosines(outputs, target)

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """An empty mapping, as a text has no label."""
        return {}
