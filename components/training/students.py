"""Students before their training on a task: what they start from."""

import dataclasses
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from components.dsl.errors import InputError
from keras_bert.options.student import Student, may_lose_parts

if TYPE_CHECKING:
    from keras_bert.compress.students import Importance
    from keras_bert.objectives.base import Batch
    from keras_bert.tasks.base import Task

    Measure = Callable[["Task", list[Batch]], list[Importance]]

logger = logging.getLogger(__name__)

# Batches that show which parts of the teacher count, and how often pieces stand in texts.
STARTING_BATCHES = 32


def for_task(teacher: "Task", rows: "list[Batch]") -> "list[Importance]":
    """What the loss of a task says of the teacher's parts."""
    from keras_bert.compress.importance import measure_importance

    return measure_importance(teacher.network(), teacher.objective(), rows)


def for_states(teacher: "Task", rows: "list[Batch]") -> "list[Importance]":
    """What its final states say, before there is a task."""
    from keras_bert.compress.importance import measure_importance
    from keras_bert.compress.probes import RandomProbes

    probes = RandomProbes(teacher.encoder)
    return measure_importance(probes.network, probes, rows)


def make_student(
    teacher: "Task", shape: Student, rows: "Iterable[Batch]" = (), measure: "Measure" = for_task
) -> tuple["Task", int]:
    """A student before its training, and how many of its encoder blocks are the teacher's.

    Args:
        teacher: of any task.
        shape: how the student differs.
        rows: batches, where parts of the teacher must be chosen, or its table of pieces gets a rank.
        measure: says which of the teacher's parts count.

    Raises:
        InputError: the teacher has no such layers, or the shape is none.
    """
    from keras_bert.compress.students import initialize_from_teacher, spread_layers
    from keras_bert.compress.vocabulary import count_pieces
    from keras_bert.models.encoder import config_of

    config = config_of(teacher.model)
    try:
        student = _blank(teacher, shape)
        small = config_of(student.model)
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
    from keras_bert.models.encoder import config_of

    try:
        student = _blank(teacher, shape)
        layers = range(config_of(student.model).num_layers)
        copied = initialize_from_teacher(student.network(), begun.network(), layers)
    except ValueError as error:
        raise InputError(f"student: {error}") from None
    head = take_head(student.network(), teacher.network())
    logger.info("the student goes on from %s and starts from the teacher's %s", list(copied), head)
    return student


def _blank(teacher: "Task", shape: Student) -> "Task":
    """The teacher's task on an encoder of random weights."""
    from keras_bert.compress.students import spread_layers
    from keras_bert.models.encoder import build_encoder, config_of, has_layer

    config = config_of(teacher.model)
    small = shape.config(config, teacher.max_length)
    if small.variant is not None and small.num_layers <= config.num_layers:
        layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
        small = dataclasses.replace(small, variant=small.variant.of_layers(layers))
    return teacher.rebuilt(build_encoder(small, pooler=has_layer(teacher.network(), "pooler")))
