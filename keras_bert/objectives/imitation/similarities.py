"""The difference of the similarities between a batch's texts."""

from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.objectives.imitation.base import ImitationLoss, Read


class Similarities(ImitationLoss):
    """Mean over all pairs of a batch's texts of (cos(v_S, v_S') - cos(v_T, v_T'))^2, whatever the widths.

    The similarity matrix of Tung and Mori 2019, section 3.1, with cosines, as embeddings are compared by them. Texts of
    different parts of a batch, or of different devices, are not compared.
    """

    name = "similarities"

    def distance(self, student: Read, teacher: Read, mask: Tensor) -> Tensor:
        """See `ImitationLoss`."""
        return ops.sum(ops.square(similarity_matrix(student.states[0]) - similarity_matrix(teacher.states[0])))

    def weight(self, mask: Tensor) -> Tensor:
        """The number of pairs, with those of a text and itself."""
        return ops.square(ops.sum(ops.ones_like(mask[:, 0])))


def similarity_matrix(vectors: Tensor) -> Tensor:
    """Cosines of all pairs: (texts, width) -> float32 (texts, texts)."""
    units = ops.normalize(ops.cast(vectors, "float32"), axis=-1)
    return ops.matmul(units, ops.transpose(units))
