"""Distillation: a smaller student learns from a fine-tuned teacher."""

import dataclasses
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.training.model_folder import read_model, write_model
from components.training.on_rows import VALIDATIONS, Stage, train_on_rows, training_rows
from components.training.progress import training_work
from components.training.tuning import finish, rows_to_finish
from keras_bert.options.distillation import Distillation
from keras_bert.options.imitation import Imitation
from keras_bert.options.student import Student, may_lose_parts
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from keras_bert.objectives.base import Batch
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)

# Batches that show which parts of the teacher count, and how often pieces stand in texts.
STARTING_BATCHES = 32


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"))
def distill(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    student: Output[Model],
    shape: Student,
    distillation: Distillation = Distillation(),
    imitation: Imitation = Imitation(),
    training: Training = Training(),
) -> None:
    """Trains a student on the labels, on what the teacher thinks of every row, and on how it comes to think so.

    A student as wide as its teacher starts from the teacher's layers, and where it has fewer heads or a narrower
    feed-forward layer from the parts of them that count most for the first rows; another one from random weights. The
    artifact's count `layers_from_teacher` says which: of its blocks all, or none.

    Args:
        teacher: of any task.
        examples: the labelled rows, or what `answer_rows` made of them.
        student: the smaller model.
        shape: how the student differs from the teacher.
        distillation: temperature and weights of the two losses.
        imitation: weights of further losses between the two models; without any, there are these two.
        training: how long and how to train.

    Raises:
        InputError: the teacher has no such layers, the shape is none, or what is to be imitated does not go with the
            models.
    """
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(training.seed)
    with find_strategy().scope():
        master = read_model(teacher)
        seen = training_rows(examples, training).after(0, stop=STARTING_BATCHES)
        pupil, copied = make_student(master, shape, seen)
        history = _train(master, pupil, examples, distillation, imitation, training)
    finish(pupil, examples)
    write_model(student, pupil, history, training.precision)
    student.counts["layers_from_teacher"] = copied


def make_student(teacher: "Task", shape: Student, rows: "Iterable[Batch]" = ()) -> tuple["Task", int]:
    """A student before its training, and how many of its encoder blocks are the teacher's.

    Args:
        teacher: of any task.
        shape: how the student differs.
        rows: batches of the task, where parts of the teacher must be chosen, or its table of pieces gets a rank.

    Raises:
        InputError: the teacher has no such layers, or the shape is none.
    """
    from keras_bert.compress.importance import measure_importance
    from keras_bert.compress.students import initialize_from_teacher, spread_layers
    from keras_bert.compress.vocabulary import count_pieces
    from keras_bert.models.encoder import build_encoder, config_of, has_layer

    config = config_of(teacher.model)
    try:
        small = shape.config(config, teacher.max_length)
        if small.variant is not None and small.num_layers <= config.num_layers:
            layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
            small = dataclasses.replace(small, variant=small.variant.of_layers(layers))
        student = teacher.rebuilt(build_encoder(small, pooler=has_layer(teacher.network(), "pooler")))
        wider = small.num_heads > config.num_heads or small.intermediate_size > config.intermediate_size
        same = small.num_heads == config.num_heads and small.intermediate_size == config.intermediate_size
        if small.hidden_size != config.hidden_size or wider or not (same or may_lose_parts(config)):
            logger.info("the student starts from random weights: its layers are no parts of the teacher's")
            return student, 0
        layers = shape.layers or spread_layers(config.num_layers, small.num_layers)
        seen, network = list(rows), teacher.network()
        factorized = small.embedding_rank != config.embedding_rank
        copied = initialize_from_teacher(
            student.network(),
            network,
            layers,
            importance=None if same else measure_importance(network, teacher.objective(), seen),
            piece_counts=count_pieces(seen, config.vocabulary_size) if factorized else None,
        )
    except ValueError as error:
        raise InputError(f"student: {error}") from None
    logger.info("the student starts from the teacher's layers: %s", copied)
    return student, len(layers)


def _train(
    teacher: "Task",
    student: "Task",
    examples: TaskExamples,
    distillation: Distillation,
    imitation: Imitation,
    training: Training,
) -> list[dict[str, float]]:
    """Trains the student, in two stages where the settings say so; the history counts the steps of both."""
    from keras_bert.compress.imitation import ImitationObjective
    from keras_bert.data.records import read_features
    from keras_bert.data.schemas import TEACHER_ANSWERS
    from keras_bert.objectives.distillation import DistillationObjective

    networks, scored = (student.network(), teacher.network()), rows_to_finish(student, examples)
    if not imitation.is_on:
        known = TEACHER_ANSWERS in read_features(examples.path)
        plain = DistillationObjective(student.objective(), None if known else networks[1], distillation)
        return train_on_rows(networks[0], plain, examples, training, scored_after=scored)
    try:
        objective = ImitationObjective(student.objective(), *networks, distillation, imitation)
    except ValueError as error:
        raise InputError(f"distillation.{str(error).partition('.')[2]}") from None
    joint, counts = objective.joint, read_features(examples.path)["counts"]
    steps = training.count_steps(counts["train"])
    first = min(max(1, round(imitation.intermediate_steps * steps)), steps - 1) if imitation.intermediate_steps else 0
    rest = dataclasses.replace(training, steps=steps - first)
    if not first:
        return train_on_rows(joint, objective, examples, rest, scored_after=scored)
    begun = dataclasses.replace(training, steps=first)
    done, to_come = (training_work(counts, each, VALIDATIONS) for each in (begun, rest))
    alone, stage = objective.without_answers(), Stage(name="intermediate", later=to_come)
    history = train_on_rows(joint, alone, examples, begun, scored_after=scored, stage=stage)
    last = train_on_rows(joint, objective, examples, rest, scored_after=scored, stage=Stage(earlier=done))
    return [*history, *({**entry, "step": entry["step"] + first} for entry in last)]
