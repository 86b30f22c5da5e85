"""The angle between the vectors of a text."""

from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.objectives.imitation.base import ImitationLoss, Read, cosines


class Vectors(ImitationLoss):
    """Mean over texts of 1 - cos(v_S W, v_T), both texts of each pair; without W where widths are equal.

    The student learns the teacher's vectors themselves, not only their distances (as Reimers and Gurevych 2020, section
    3, with squared differences).
    """

    name = "vectors"
    projected = True

    def distance(self, student: Read, teacher: Read, mask: Tensor) -> Tensor:
        """See `ImitationLoss`."""
        return ops.sum(1.0 - cosines(student.states[0], teacher.states[0]))

    def weight(self, mask: Tensor) -> Tensor:
        """The texts."""
        return ops.sum(ops.ones_like(mask[:, 0]))
