"""Texts of a batch as near to each other as the teacher finds them."""

from typing import Any

from keras import ops

from keras_bert.objectives.imitation.base import ImitationLoss, Read


class Similarities(ImitationLoss):
    """Mean over all pairs of a batch's texts of (cos(v_S, v_S') - cos(v_T, v_T'))^2, whatever the widths.

    The matrix of similarities of Tung and Mori 2019, section 3.1, made of cosines, which are what embeddings are for.
    The texts of a part, or of a device, are not held against those of another one.
    """

    name = "similarities"

    def distance(self, student: Read, teacher: Read, mask: Any) -> Any:
        """See `ImitationLoss`."""
        return ops.sum(ops.square(similarity_matrix(student.states[0]) - similarity_matrix(teacher.states[0])))

    def weight(self, mask: Any) -> Any:
        """The pairs, each text with itself among them."""
        return ops.square(ops.sum(ops.ones_like(mask[:, 0])))


def similarity_matrix(vectors: Any) -> Any:
    """Cosines of all pairs: (texts, width) -> float32 (texts, texts)."""
    units = ops.normalize(ops.cast(vectors, "float32"), axis=-1)
    return ops.matmul(units, ops.transpose(units))
