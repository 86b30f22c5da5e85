"""What a student begins with, and what it then listens to."""

import dataclasses
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from components.artifacts.task_examples import TaskExamples
from components.dsl.errors import InputError
from components.training.importance import Measure, by_task
from components.training.on_rows import training_rows
from keras_bert.options.distillation import Distillation
from keras_bert.options.imitation import Imitation
from keras_bert.options.student import Student, may_lose_parts
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras

    from keras_bert.config import EncoderConfig
    from keras_bert.objectives.base import Batch, Objective
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)

# Batches that show which parts of the teacher count, and how often pieces stand in texts.
STARTING_BATCHES = 32


def begin_student(teacher: "Task", shape: Student, examples: TaskExamples, training: Training) -> tuple["Task", int]:
    """A student before its training, as the first training rows show it; see `make_student`."""
    return make_student(teacher, shape, training_rows(examples, training).after(0, stop=STARTING_BATCHES))


def make_student(
    teacher: "Task", shape: Student, rows: "Iterable[Batch]" = (), measure: "Measure" = by_task
) -> tuple["Task", int]:
    """A student before its training, and how many of its encoder blocks are the teacher's.

    Args:
        teacher: of any task.
        shape: how the student differs.
        rows: batches, where parts of the teacher must be chosen, or its table of pieces gets a rank.
        measure: says which parts count.

    Raises:
        InputError: the teacher has no such layers, or the shape is none.
    """
    from keras_bert.compress.students import initialize_from_teacher, spread_layers
    from keras_bert.compress.vocabulary import count_pieces
    from keras_bert.models.encoder import config_of

    config = config_of(teacher.model)
    try:
        student, small = build_student(teacher, shape)
        wider = small.num_heads > config.num_heads or small.intermediate_size > config.intermediate_size
        same = small.num_heads == config.num_heads and small.intermediate_size == config.intermediate_size
        if small.hidden_size != config.hidden_size or wider or not (same or may_lose_parts(config)):
            logger.info("the student starts from random weights: its layers are no parts of the teacher's")
            return student, 0
        layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
        factorized = small.embedding_rank != config.embedding_rank
        seen = list(rows) if factorized or not same else []
        copied = initialize_from_teacher(
            student.network(),
            teacher.network(),
            layers,
            importance=None if same else measure(teacher, seen),
            piece_counts=count_pieces(seen, config.vocabulary_size) if factorized else None,
        )
    except ValueError as error:
        raise InputError(f"student: {error}") from None
    logger.info("the student starts from the teacher's layers: %s", copied)
    return student, len(layers)


def build_student(teacher: "Task", shape: Student) -> tuple["Task", "EncoderConfig"]:
    """A student of random weights, and what its encoder is.

    Raises:
        ValueError: the shape is none.
    """
    from keras_bert.compress.students import spread_layers
    from keras_bert.models.encoder import build_encoder, config_of, has_layer

    config = config_of(teacher.model)
    small = shape.config(config, teacher.max_length)
    if small.variant is not None and small.num_layers <= config.num_layers:
        layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
        small = dataclasses.replace(small, variant=small.variant.of_layers(layers))
    return teacher.rebuilt(build_encoder(small, pooler=has_layer(teacher.network(), "pooler"))), small


def find_objective(
    teacher: "Task",
    student: "Task",
    examples: TaskExamples,
    distillation: Distillation,
    imitation: Imitation,
) -> tuple["keras.Model", "Objective"]:
    """The model that is trained, and what is minimized; with an imitation, both models in one.

    Raises:
        InputError: what is to be imitated does not go with the models.
    """
    from keras_bert.compress.imitation import ImitationObjective
    from keras_bert.data.records import read_features
    from keras_bert.data.schemas import TEACHER_ANSWERS
    from keras_bert.objectives.distillation import DistillationObjective

    networks = (student.network(), teacher.network())
    if not imitation.is_on:
        known = TEACHER_ANSWERS in read_features(examples.path)
        return networks[0], DistillationObjective(student.objective(), None if known else networks[1], distillation)
    try:
        objective = ImitationObjective(student.objective(), *networks, distillation, imitation)
    except ValueError as error:
        raise InputError(f"distillation.{str(error).partition('.')[2]}") from None
    return objective.joint, objective
