"""The angle between final states (Sanh et al. 2019, section 3)."""

from keras_bert.core.tensors import Tensor
from keras_bert.objectives.imitation.base import ImitationLoss, Read, cosines, per_token


class Cosine(ImitationLoss):
    """Mean over tokens of 1 - cos(h_S W, h_T) of the final states; without W where widths are equal."""

    name = "cosine"
    projected = True

    def distance(self, student: Read, teacher: Read, mask: Tensor) -> Tensor:
        """See `ImitationLoss`."""
        return per_token(1.0 - cosines(student.states[0], teacher.states[0]), mask)
