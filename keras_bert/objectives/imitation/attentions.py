"""The difference of attention scores, head by head (Jiao et al. 2020, section 3.2)."""

from typing import Any

from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.attention import MASK_BIAS
from keras_bert.objectives.imitation.base import ImitationLoss, Read


class Attentions(ImitationLoss):
    """Mean over heads and pairs of tokens of (A_S - A_T)^2, added up over the pairs of layers (equation 7).

    A are the scores before the softmax, which converge faster (same paper). A pair of tokens that either model masks,
    such as one outside of a window, counts as equal, as padding does in the paper's code.
    """

    name = "attentions"

    def distance(self, student: Read, teacher: Read, mask: Tensor) -> Tensor:
        """See `ImitationLoss`."""
        pairs = zip(student.attended["scores"], teacher.attended["scores"], strict=True)
        return sum(ops.sum(score_difference(*pair) * token_pairs(mask)) for pair in pairs)

    def weight(self, mask: Tensor) -> Tensor:
        """The pairs of tokens."""
        return ops.sum(token_pairs(mask))


def score_difference(student: Any, teacher: Any) -> Any:
    """The mean over heads of the squared difference: twice (batch, heads, length, length) -> (batch, length, length).

    Raises:
        ValueError: the numbers of heads differ.
    """
    if student.shape[1] != teacher.shape[1]:
        raise ValueError(f"scores must have the teacher's {teacher.shape[1]} heads, got {student.shape[1]}")
    student, teacher = ops.cast(student, "float32"), ops.cast(teacher, "float32")
    seen = ops.cast(ops.greater(ops.minimum(student, teacher), MASK_BIAS / 2), "float32")
    return ops.mean(ops.square(student - teacher) * seen, axis=1)


def token_pairs(mask: Tensor) -> Tensor:
    """1 where both are tokens: (batch, length) -> (batch, length, length)."""
    return mask[:, :, None] * mask[:, None, :]
