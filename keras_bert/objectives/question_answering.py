"""The span of a context that answers a question."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from keras import ops

from keras_bert.core.losses import correct_spans, span_loss, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.layers.attention import MASK_BIAS
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import row_weights
from keras_bert.objectives.divergence import divergence


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringObjective(TaskObjective):
    """Mean of the cross-entropies of the answer's start and end."""

    has_token_outputs: ClassVar[bool] = True
    # An answer never starts or ends at padding.
    padding_output: ClassVar[float] = MASK_BIAS

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the number of windows."""
        return {"loss": ops.sum(row_weights(batch["positions"][:, 0]))}

    def measure(self, outputs: Tensor, batch: Batch) -> Sums:
        """Sums and weights of `loss` (nats) and `accuracy`, the share of windows with both ends right.

        The logits of start and end are (batch, length, 2), the `positions` (batch, 2).
        """
        positions = batch["positions"]
        ones = row_weights(positions[:, 0])
        return {
            "loss": weighted_sums(span_loss(positions, outputs), ones),
            "accuracy": weighted_sums(correct_spans(positions, outputs), ones),
        }

    def distance(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """The mean `divergence` of start and end over the tokens, of logits (batch, length, 2)."""
        student, teacher = (ops.transpose(logits, (0, 2, 1)) for logits in (outputs, target))
        return ops.sum(ops.mean(divergence(student, teacher, temperature), axis=-1))

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`positions` (batch, 2), the likeliest start and end outside of padding."""
        inside = np.where(batch["padding_mask"][..., None] == 1, outputs, -np.inf)
        return {"positions": inside.argmax(axis=1)}
