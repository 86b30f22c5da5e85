"""The divergence of self-attention relations in one layer: MiniLM (Wang et al. 2020, Wang et al. 2021)."""

import dataclasses
import math
from typing import Any

from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.attention import MASK_BIAS
from keras_bert.objectives.imitation.base import ImitationLoss, Read, per_token


@dataclasses.dataclass(frozen=True)
class Relations(ImitationLoss):
    """Mean over heads and tokens of KL(R_T || R_S), added up over the kinds of tensors, in nats.

    R are the rows of softmax(X X^T / sqrt(width of a head)), where X are queries, keys or values, split into the same
    number of heads in both models, whatever their widths (Wang et al. 2021, equations 4 to 8). Where `scores` are read,
    R are the attention probabilities (Wang et al. 2020, equation 4).

    Attributes:
        heads: number of relation heads.
    """

    name = "relations"

    heads: int

    def distance(self, student: Read, teacher: Read, mask: Tensor) -> Tensor:
        """See `ImitationLoss`."""
        total: Any = 0.0
        for kind, (ours,) in student.attended.items():
            (theirs,) = teacher.attended[kind]
            if kind != "scores":
                ours, theirs = (relation_scores(states, self.heads) for states in (ours, theirs))
            total += per_token(relation_divergence(ours, theirs, mask), mask)
        return total


def relation_scores(states: Tensor, heads: int) -> Tensor:
    """X X^T / sqrt(width of a head): (batch, length, width) -> float32 (batch, heads, length, length)."""
    states = ops.cast(states, "float32")
    batch, length, _ = ops.shape(states)
    size = states.shape[-1] // heads
    split = ops.transpose(ops.reshape(states, (batch, length, heads, size)), (0, 2, 1, 3))
    return ops.matmul(split, ops.transpose(split, (0, 1, 3, 2))) / math.sqrt(size)


def relation_divergence(student: Any, teacher: Any, mask: Tensor) -> Tensor:
    """The mean over heads of KL(softmax(teacher) || softmax(student)) over the tokens that are no padding.

    Args:
        student: scores (batch, heads, length, length).
        teacher: the same.
        mask: (batch, length).

    Returns:
        (batch, length); values at padding are arbitrary.
    """
    hidden = ((1.0 - mask) * MASK_BIAS)[:, None, None, :]
    ours, theirs = (ops.log_softmax(ops.cast(scores, "float32") + hidden, axis=-1) for scores in (student, teacher))
    return ops.mean(ops.sum(ops.exp(theirs) * (theirs - ours), axis=-1), axis=1)
