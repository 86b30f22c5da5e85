"""Students that have begun on text, and go on to a task."""

import logging
from typing import TYPE_CHECKING

from components.dsl.errors import InputError
from components.training.students import build_student
from keras_bert.options.student import Student

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)


def go_on(teacher: "Task", shape: Student, begun: "Task") -> "Task":
    """A student that has begun on text, with what of the head of its teacher fits.

    Args:
        teacher: of any task.
        shape: how the student differs from it.
        begun: has its encoder.

    Raises:
        InputError: the shape is none, or another than that which has begun.
    """
    from keras_bert.compress.students import initialize_from_teacher, take_head

    try:
        student, small = build_student(teacher, shape)
        copied = initialize_from_teacher(student.network(), begun.network(), range(small.num_layers))
    except ValueError as error:
        raise InputError(f"student: {error}") from None
    head = take_head(student.network(), teacher.network())
    logger.info("the student goes on from %s and starts from the teacher's %s", list(copied), head)
    return student
