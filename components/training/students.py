"""Students before their training: their layers, their initial weights and their distillation objective."""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from components.artifacts.standard import TaskExamples
from components.dsl.errors import InputError, input_errors
from components.training.on_rows import training_rows
from keras_bert.core.checks import FieldError
from keras_bert.options.compression import Distillation, Imitation, Student
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras

    from keras_bert.compress.new_students import Measure
    from keras_bert.objectives.base import Batch, Objective
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)


def initialize_student(
    teacher: "Task", shape: Student, examples: TaskExamples, training: Training, measure: "Measure | None" = None
) -> tuple["Task", int]:
    """Creates a student and initializes it on the first training rows, see `make_student`."""
    from keras_bert.compress.new_students import STARTING_BATCHES

    return make_student(teacher, shape, training_rows(examples, training).first(STARTING_BATCHES), measure)


def make_student(
    teacher: "Task", shape: Student, rows: "Iterable[Batch]" = (), measure: "Measure | None" = None
) -> tuple["Task", int]:
    """Calls `keras_bert.compress.new_students.make_student`; its errors are reported for the setting `student`."""
    from keras_bert.compress import new_students

    with input_errors("student: "):
        return new_students.make_student(teacher, shape, rows, measure or new_students.measure_by_loss)


def build_distillation_objective(
    teacher: "Task", student: "Task", examples: TaskExamples, distillation: Distillation, imitation: Imitation
) -> tuple["keras.Model", "Objective"]:
    """Returns the model to train and its objective; with an imitation, the model contains student and teacher."""
    from keras_bert.compress.imitation import ImitationObjective
    from keras_bert.data.schemas import TEACHER_ANSWERS
    from keras_bert.objectives.distillation import DistillationObjective

    networks, has_answers = (student.network(), teacher.network()), TEACHER_ANSWERS in examples.features()
    if not imitation.is_on:
        teacher_network = None if has_answers else networks[1]
        return networks[0], DistillationObjective(student.objective(), teacher_network, distillation)
    try:
        objective = ImitationObjective(student.objective(), *networks, distillation, imitation, has_answers=has_answers)
    except FieldError as error:
        raise InputError(error.describe("distillation")) from None
    return objective.joint, objective


def resume_student(teacher: "Task", shape: Student, general_student: "Task") -> "Task":
    """Creates a student with the encoder of a general student and the layers of the teacher's head that fit."""
    from keras_bert.compress.new_students import build_student
    from keras_bert.compress.students import copy_head, initialize_from_teacher

    with input_errors("student: "):
        student, small = build_student(teacher, shape)
        copied = initialize_from_teacher(student.network(), general_student.network(), range(small.num_layers))
    head = copy_head(student.network(), teacher.network())
    logger.info("the student continues from %s and takes %s from the teacher", list(copied), head)
    return student
