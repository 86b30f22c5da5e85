"""Distillation: a smaller student learns from a fine-tuned teacher."""

import dataclasses
import logging
from typing import TYPE_CHECKING

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.training.model_folder import read_model, write_model
from components.training.on_rows import train_on_rows
from components.training.tuning import finish, rows_to_finish
from keras_bert.options.distillation import Distillation
from keras_bert.options.student import Student
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"))
def distill(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    student: Output[Model],
    shape: Student,
    distillation: Distillation = Distillation(),
    training: Training = Training(),
) -> None:
    """Trains a student on the labels and on what the teacher thinks of every row.

    A student as wide as its teacher starts from the teacher's layers, a narrower one from random weights; the
    artifact's count `layers_from_teacher` says which: of its blocks all, or none.

    Args:
        teacher: of any task.
        examples: the labelled rows.
        student: the smaller model.
        shape: how the student differs from the teacher.
        distillation: temperature and weights of the two losses.
        training: how long and how to train.

    Raises:
        InputError: the teacher has no such layers, or the shape is none.
    """
    from keras_bert.objectives.distillation import DistillationObjective
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(training.seed)
    with find_strategy().scope():
        master = read_model(teacher)
        pupil, copied = make_student(master, shape)
        objective = DistillationObjective(pupil.objective(), master.network(), distillation)
        scored = rows_to_finish(pupil, examples)
        history = train_on_rows(pupil.network(), objective, examples, training, scored_after=scored)
    finish(pupil, examples)
    write_model(student, pupil, history, training.precision)
    student.counts["layers_from_teacher"] = copied


def make_student(teacher: "Task", shape: Student) -> tuple["Task", int]:
    """A student before its training, and how many of its encoder blocks are the teacher's.

    Raises:
        InputError: the teacher has no such layers, or the shape is none.
    """
    from keras_bert.compress.students import initialize_from_teacher, spread_layers
    from keras_bert.models.encoder import build_encoder, config_of, has_layer

    config = config_of(teacher.model)
    try:
        small = shape.config(config, teacher.max_length)
        if small.variant is not None and small.num_layers <= config.num_layers:
            layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
            small = dataclasses.replace(small, variant=small.variant.of_layers(layers))
        student = teacher.rebuilt(build_encoder(small, pooler=has_layer(teacher.network(), "pooler")))
        if (small.hidden_size, small.num_heads, small.intermediate_size) != (
            config.hidden_size,
            config.num_heads,
            config.intermediate_size,
        ):
            logger.info("the student starts from random weights: its layers have another shape than the teacher's")
            return student, 0
        layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
        copied = initialize_from_teacher(student.network(), teacher.network(), layers)
    except ValueError as error:
        raise InputError(f"student: {error}") from None
    logger.info("the student starts from the teacher's layers: %s", copied)
    return student, len(layers)
