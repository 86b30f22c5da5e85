"""The squared difference of hidden states (Jiao et al. 2020, section 3.2)."""

from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.objectives.imitation.base import ImitationLoss, Read, State, per_token


class HiddenStates(ImitationLoss):
    """Mean over tokens and width of (H_S W - H_T)^2, added up over the pairs of layers (equations 8 and 9).

    Where widths are equal there is no W. As in the paper, the embeddings have one matrix, and all further layers
    share another one.
    """

    name = "hidden_states"
    projected = True

    def distance(self, student: Read, teacher: Read, mask: Tensor) -> Tensor:
        """See `ImitationLoss`."""
        pairs = zip(student.states, teacher.states, strict=True)
        return sum(per_token(squared_difference(*pair), mask) for pair in pairs)

    def projection(self, state: State) -> str:
        """See `ImitationLoss`."""
        return f"embeddings_{super().projection(state)}" if state == 0 else super().projection(state)


def squared_difference(first: Tensor, second: Tensor) -> Tensor:
    """The mean over the width: twice (..., width) -> (...), float32."""
    return ops.mean(ops.square(ops.cast(first, "float32") - ops.cast(second, "float32")), axis=-1)
