"""Students and their objectives, with errors for the tables of a job."""

from typing import TYPE_CHECKING

from components.dsl.errors import InputError, input_errors
from keras_bert.core.checks import FieldError
from keras_bert.options.compression import Distillation, Imitation, Student
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import Objective
    from keras_bert.recipes.train import RowSource
    from keras_bert.tasks.base import Task


def create_student(
    teacher: "Task",
    shape: Student,
    rows: "RowSource",
    training: Training,
    general_student: "Task | None" = None,
    *,
    is_trained: bool = True,
) -> tuple["Task", int]:
    """The student of `make_student` for the first training rows, and the number of its blocks that are not random."""
    from keras_bert.recipes.students import STARTING_BATCHES, make_student, measure_by_loss, measure_by_states

    first = rows.training_batches(training.micro_batch_size, training.seed).first(STARTING_BATCHES)
    measure = measure_by_loss if is_trained else measure_by_states
    with input_errors("student: "):
        return make_student(teacher, shape, first, measure, general_student=general_student, seed=training.seed)


def build_distillation_objective(
    teacher: "Task",
    student: "Task",
    rows: "RowSource",
    distillation: Distillation,
    imitation: Imitation,
    training: Training,
) -> tuple["keras.Model", "Objective"]:
    """The model to train and its objective, see `distillation_objective`."""
    from keras_bert.recipes.distill import distillation_objective

    try:
        return distillation_objective(
            teacher, student, distillation, imitation, has_answers=rows.has_answers, seed=training.seed
        )
    except FieldError as error:
        raise InputError(error.describe("distillation")) from None
