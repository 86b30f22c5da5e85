"""Final states that point where the teacher's do (Sanh et al. 2019, section 3)."""

from typing import Any

from keras_bert.objectives.imitation.base import ImitationLoss, Read, cosines, per_token


class Cosine(ImitationLoss):
    """Mean over tokens of 1 - cos(h_S W, h_T) of the final states; without W where widths are equal."""

    name = "cosine"
    projected = True

    def distance(self, student: Read, teacher: Read, mask: Any) -> Any:
        """See `ImitationLoss`."""
        return per_token(1.0 - cosines(student.states[0], teacher.states[0]), mask)
