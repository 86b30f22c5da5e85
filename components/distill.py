"""Distillation: a smaller student learns from a fine-tuned teacher."""

import logging

from components.artifacts import Model, TaskExamples
from components.base import Input, Output, component
from components.model_folder import read_model, write_model
from components.task_training import train_on_rows
from keras_bert.config import Distillation, EncoderShape, Training

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

    A student as wide as its teacher starts from the teacher's layers, any other from chance.

    Args:
        teacher: a classifier.
        examples: the labelled rows.
        student: the smaller classifier.
        encoder: the student's shape.
        distillation: temperature and weights of the two losses.
        training: how long and how to train.
    """
    from keras_bert.compress.distill import DistillationObjective, initialize_from_teacher
    from keras_bert.encoder import build_encoder
    from keras_bert.tasks.classification import build_classifier
    from keras_bert.trainer import make_deterministic

    make_deterministic(training.seed)
    teacher_network, task = read_model(teacher)
    vocabulary_size = teacher_network.get_layer("token_embedding").vocabulary_size
    network = build_classifier(
        build_encoder(encoder.encoder_config(vocabulary_size, task["max_length"])),
        len(task["labels"]),
        pooling=task["pooling"],
    )
    if encoder.hidden_size == teacher_network.get_layer("token_embedding").hidden_size:
        logger.info("the student starts from %s", initialize_from_teacher(network, teacher_network))
    history = train_on_rows(network, DistillationObjective(teacher_network, distillation), examples, training)
    write_model(student, network, teacher, task, history)
