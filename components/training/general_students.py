"""Students that were distilled on general text, and continue with a task."""

import logging
from typing import TYPE_CHECKING

from components.dsl.errors import InputError
from keras_bert.options.compression import Student

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)


def resume_student(teacher: "Task", shape: Student, general_student: "Task") -> "Task":
    """A student with the encoder of a general student, and with the layers of the teacher's head that fit.

    Raises:
        InputError: the shape is invalid, or differs from the general student's.
    """
    from keras_bert.compress.new_students import build_student
    from keras_bert.compress.students import initialize_from_teacher, take_head

    try:
        student, small = build_student(teacher, shape)
        copied = initialize_from_teacher(student.network(), general_student.network(), range(small.num_layers))
    except ValueError as error:
        raise InputError(f"student: {error}") from None
    head = take_head(student.network(), teacher.network())
    logger.info("the student continues from %s and takes %s from the teacher", list(copied), head)
    return student
