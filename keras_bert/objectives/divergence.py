"""How far two softmaxes are apart."""

from typing import Any

from keras import ops


def divergence(student_logits: Any, teacher_logits: Any, temperature: float) -> Any:
    """T^2 KL(teacher || student) of both softmaxes at temperature T, in nats: twice (..., classes) -> (...).

    T^2 keeps the gradients as large as those of the true labels (Hinton et al. 2015, section 2).
    """
    student = ops.log_softmax(ops.cast(student_logits, "float32") / temperature, axis=-1)
    teacher = ops.log_softmax(ops.cast(teacher_logits, "float32") / temperature, axis=-1)
    return temperature**2 * ops.sum(ops.exp(teacher) * (teacher - student), axis=-1)
