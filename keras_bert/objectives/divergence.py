"""The Kullback-Leibler divergence of a student's softmax from its teacher's."""

from keras import ops

from keras_bert.core.tensors import Tensor


def divergence(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """T^2 KL(teacher || student) of both softmaxes at temperature T, in nats: twice (..., classes) -> (...).

    T^2 keeps the gradients as large as those of the true labels (Hinton et al. 2015, section 2).
    """
    student = ops.log_softmax(ops.cast(student_logits, "float32") / temperature, axis=-1)
    teacher = ops.log_softmax(ops.cast(teacher_logits, "float32") / temperature, axis=-1)
    return temperature**2 * ops.sum(ops.exp(teacher) * (teacher - student), axis=-1)
