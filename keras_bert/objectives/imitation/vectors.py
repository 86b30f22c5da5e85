"""Vectors of texts that point where the teacher's do."""

from typing import Any

from keras import ops

from keras_bert.objectives.imitation.base import ImitationLoss, Read, cosines


class Vectors(ImitationLoss):
    """Mean over texts of 1 - cos(v_S W, v_T), both texts of each pair; without W where widths are equal.

    The student's vectors are then the teacher's own, not only as far from each other (as Reimers and Gurevych 2020,
    section 3, there with squared differences).
    """

    name = "vectors"
    projected = True

    def distance(self, student: Read, teacher: Read, mask: Any) -> Any:
        """See `ImitationLoss`."""
        return ops.sum(1.0 - cosines(student.states[0], teacher.states[0]))

    def weight(self, mask: Any) -> Any:
        """The texts."""
        return ops.sum(ops.ones_like(mask[:, 0]))
