"""A student before its training: its shape, and its initial weights, which come from its teacher."""

import dataclasses
import logging

from keras_bert.compress.importance import measure_importance
from keras_bert.compress.students import Importance, RandomProbes, copy_head, initialize_from_teacher, spread_layers
from keras_bert.compress.vocabulary import count_token_ids
from keras_bert.core.config import EncoderConfig
from keras_bert.data.schemas import TEXT
from keras_bert.models.encoder import build_encoder, config_of, has_layer
from keras_bert.objectives.base import Batch
from keras_bert.options.compression import Student, has_prunable_blocks
from keras_bert.options.training import Training
from keras_bert.recipes.train import BatchedRows
from keras_bert.tasks.base import Task
from keras_bert.training.seeds import seeded_weights

logger = logging.getLogger(__name__)

# Batches that measure the importance of the teacher's parts and the frequency of tokens.
STARTING_BATCHES = 32


def measure_parts(teacher: Task, batches: list[Batch], *, is_trained: bool) -> list[Importance]:
    """The importance of a teacher's heads and units for its loss or, before there is a task, for its final states."""
    if is_trained:
        return measure_importance(teacher.network(), teacher.objective(), batches)
    probes = RandomProbes(teacher.encoder)
    return measure_importance(probes.network, probes, batches)


def make_student(
    teacher: Task,
    shape: Student,
    rows: BatchedRows | None = None,
    training: Training = Training(),
    *,
    is_trained: bool = True,
    general_student: Task | None = None,
) -> tuple[Task, int]:
    """Builds a student and initializes it; also returns the number of its blocks that are not random: all, or none.

    A student as wide as its teacher starts from the teacher's layers; with fewer heads or a narrower feed-forward
    layer, it keeps their most important parts for the first rows, which also weigh the tokens of a factorized
    embedding. `is_trained` says that the teacher has learnt the task. With a general student, which was distilled on
    plain text, it takes that encoder instead, and those layers of the teacher's head that fit. Any other student starts
    from random weights.
    """
    if (built := shape.build(teacher, rows)) is not None:
        return built, 0
    config = config_of(teacher.model)
    with seeded_weights(training.seed):
        student, small = build_student(teacher, shape)
    if general_student is not None:
        copied = initialize_from_teacher(student.network(), general_student.network(), range(small.num_layers))
        head = copy_head(student.network(), teacher.network())
        logger.info("the student continues from %s and takes %s from the teacher", list(copied), head)
        return student, small.num_layers
    wider = small.num_heads > config.num_heads or small.intermediate_size > config.intermediate_size
    same = small.num_heads == config.num_heads and small.intermediate_size == config.intermediate_size
    if small.hidden_size != config.hidden_size or wider or not (same or has_prunable_blocks(config)):
        logger.info("the student starts from random weights, as its layers are not parts of the teacher's")
        return student, 0
    layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
    factorized = small.embedding_rank != config.embedding_rank
    batches: list[Batch] = []
    if factorized or not same:
        assert rows is not None
        shuffled = rows.training_batches(training.micro_batch_size, training.seed)
        batches = list(shuffled.first(STARTING_BATCHES))
    has_labels = rows is None or rows.task != TEXT
    copied = initialize_from_teacher(
        student.network(),
        teacher.network(),
        layers,
        importance=None if same else measure_parts(teacher, batches, is_trained=is_trained and has_labels),
        token_counts=count_token_ids(batches, config.vocabulary_size) if factorized else None,
    )
    logger.info("the student starts from the teacher's layers: %s", copied)
    return student, len(layers)


def build_student(teacher: Task, shape: Student) -> tuple[Task, EncoderConfig]:
    """A student with random weights, and the configuration of its encoder."""
    config = config_of(teacher.model)
    small = shape.config(config, teacher.max_length)
    if small.variant is not None and small.num_layers <= config.num_layers:
        layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
        small = dataclasses.replace(small, variant=small.variant.of_layers(layers))
    return teacher.rebuilt(build_encoder(small, pooler=has_layer(teacher.network(), "pooler"))), small
