"""The span of a context that answers a question."""

import dataclasses
from typing import Any

from keras import ops

from keras_bert.losses import span_hits, span_loss, weighted
from keras_bert.objectives.base import Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import row_weights
from keras_bert.objectives.divergence import divergence


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringObjective(TaskObjective):
    """Mean of the cross-entropies of the answer's start and end."""

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the windows."""
        return {"loss": ops.sum(row_weights(batch["positions"][:, 0]))}

    def measure(self, outputs: Any, batch: Batch) -> Sums:
        """Sums and weights of `loss` (nats) and `accuracy`, the windows with both ends right.

        Args:
            outputs: the logits of start and end (batch, length, 2).
            batch: `positions` (batch, 2).
        """
        positions = batch["positions"]
        ones = row_weights(positions[:, 0])
        return {
            "loss": weighted(span_loss(positions, outputs), ones),
            "accuracy": weighted(span_hits(positions, outputs), ones),
        }

    def distance(self, outputs: Any, wanted: Any, batch: Batch, temperature: float) -> Any:
        """The mean `divergence` of start and end over the tokens, of logits (batch, length, 2)."""
        student, teacher = (ops.transpose(logits, (0, 2, 1)) for logits in (outputs, wanted))
        return ops.sum(ops.mean(divergence(student, teacher, temperature), axis=-1))
