"""Students before their training: their layers, their initial weights and their distillation objective."""

import dataclasses
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from components.artifacts.data import TaskExamples
from components.dsl.errors import InputError
from components.training.importance import Measure, measure_by_loss
from components.training.on_rows import training_rows
from keras_bert.checks import FieldError
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

# Batches that measure the importance of the teacher's parts and the frequency of tokens.
STARTING_BATCHES = 32


def initialize_student(
    teacher: "Task", shape: Student, examples: TaskExamples, training: Training
) -> tuple["Task", int]:
    """A student that is initialized with the help of the first training rows, see `make_student`."""
    return make_student(teacher, shape, training_rows(examples, training).after(0, stop=STARTING_BATCHES))


def make_student(
    teacher: "Task", shape: Student, rows: "Iterable[Batch]" = (), measure: "Measure" = measure_by_loss
) -> tuple["Task", int]:
    """Builds a student and initializes it from its teacher.

    Args:
        teacher: a fine-tuned task.
        shape: how the student differs from the teacher.
        rows: batches; needed if heads or units of the teacher must be chosen, or if its embedding is factorized.
        measure: measures the importance of the teacher's heads and units.

    Returns:
        The student, and the number of encoder blocks that it takes from the teacher: 0 for random weights.

    Raises:
        InputError: the teacher has no such layers, or the shape is invalid.
    """
    from keras_bert.compress.students import initialize_from_teacher, spread_layers
    from keras_bert.compress.vocabulary import count_token_ids
    from keras_bert.models.encoder import config_of

    config = config_of(teacher.model)
    try:
        student, small = build_student(teacher, shape)
        wider = small.num_heads > config.num_heads or small.intermediate_size > config.intermediate_size
        same = small.num_heads == config.num_heads and small.intermediate_size == config.intermediate_size
        if small.hidden_size != config.hidden_size or wider or not (same or may_lose_parts(config)):
            logger.info("the student starts from random weights, as its layers are not parts of the teacher's")
            return student, 0
        layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
        factorized = small.embedding_rank != config.embedding_rank
        batches = list(rows) if factorized or not same else []
        copied = initialize_from_teacher(
            student.network(),
            teacher.network(),
            layers,
            importance=None if same else measure(teacher, batches),
            piece_counts=count_token_ids(batches, config.vocabulary_size) if factorized else None,
        )
    except ValueError as error:
        raise InputError(f"student: {error}") from None
    logger.info("the student starts from the teacher's layers: %s", copied)
    return student, len(layers)


def build_student(teacher: "Task", shape: Student) -> tuple["Task", "EncoderConfig"]:
    """A student with random weights, and the configuration of its encoder.

    Raises:
        ValueError: the shape is invalid.
    """
    from keras_bert.compress.students import spread_layers
    from keras_bert.models.encoder import build_encoder, config_of, has_layer

    config = config_of(teacher.model)
    small = shape.config(config, teacher.max_length)
    if small.variant is not None and small.num_layers <= config.num_layers:
        layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
        small = dataclasses.replace(small, variant=small.variant.of_layers(layers))
    return teacher.rebuilt(build_encoder(small, pooler=has_layer(teacher.network(), "pooler"))), small


def build_distillation_objective(
    teacher: "Task",
    student: "Task",
    examples: TaskExamples,
    distillation: Distillation,
    imitation: Imitation,
) -> tuple["keras.Model", "Objective"]:
    """The model to train and its objective; with an imitation, the model joins student and teacher.

    Raises:
        InputError: a loss of the imitation does not fit the models.
    """
    from keras_bert.compress.imitation import ImitationObjective
    from keras_bert.data.records import read_features
    from keras_bert.data.schemas import TEACHER_ANSWERS
    from keras_bert.objectives.distillation import DistillationObjective

    networks = (student.network(), teacher.network())
    if not imitation.is_on:
        has_answers = TEACHER_ANSWERS in read_features(examples.path)
        teacher_network = None if has_answers else networks[1]
        return networks[0], DistillationObjective(student.objective(), teacher_network, distillation)
    try:
        objective = ImitationObjective(student.objective(), *networks, distillation, imitation)
    except FieldError as error:
        raise InputError(error.describe("distillation")) from None
    return objective.joint, objective
