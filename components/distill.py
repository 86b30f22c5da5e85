"""Distillation: a smaller student learns from a fine-tuned teacher."""

import logging
from typing import TYPE_CHECKING

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.training.model_folder import read_model, write_model
from components.training.on_rows import train_on_rows
from keras_bert.config import Distillation, EncoderShape, Training

if TYPE_CHECKING:
    import keras

logger = logging.getLogger(__name__)


@component(libraries=("keras", "numpy", "tensorflow"))
def distill(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    student: Output[Model],
    encoder: EncoderShape,
    distillation: Distillation = Distillation(),
    training: Training = Training(),
) -> None:
    """Trains a student on the labels and on what the teacher thinks of every row.

    A student into which the teacher's layers fit starts from them, any other from chance; the artifact's count
    `layers_from_teacher` says which.

    Args:
        teacher: a classifier.
        examples: the labelled rows.
        student: the smaller classifier.
        encoder: the student's shape.
        distillation: temperature and weights of the two losses.
        training: how long and how to train.
    """
    from keras_bert.compress.distill import DistillationObjective
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tasks.classification import build_classifier, pooling_of
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(training.seed)
    with find_strategy().scope():
        teacher_network, task = read_model(teacher)
        vocabulary_size = teacher_network.get_layer("token_embedding").vocabulary_size
        network = build_classifier(
            build_encoder(encoder.encoder_config(vocabulary_size, task["max_length"])),
            len(task["labels"]),
            pooling=pooling_of(teacher_network),
        )
        copied = take_over(network, teacher_network)
        history = train_on_rows(network, DistillationObjective(teacher_network, distillation), examples, training)
    write_model(student, network, teacher, task, history)
    student.counts["layers_from_teacher"] = len(copied)


def take_over(student: "keras.Model", teacher: "keras.Model") -> dict[str, str]:
    """Student's layer -> the layer of the teacher that it starts from; nothing where the two do not fit."""
    from keras_bert.compress.distill import initialize_from_teacher

    try:
        copied = initialize_from_teacher(student, teacher)
    except ValueError as reason:
        logger.warning("the student starts from chance: %s", reason)
        return {}
    logger.info("the student starts from the teacher's layers: %s", copied)
    return copied
