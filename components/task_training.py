"""Training on the labelled rows: what fine-tuning, distillation and quantization share."""

from typing import TYPE_CHECKING

from components.artifacts import TaskExamples
from components.base import report_progress
from keras_bert.config import Training

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from keras_bert.trainer import Objective

# Rows wait for others of about their length: most are short, and padding is work like any other.
LENGTH_BUCKETS = (16, 32, 48, 64, 96, 128, 192, 256, 384)


def train_on_rows(
    network: "keras.Model", objective: "Objective", examples: TaskExamples, training: Training
) -> list[dict[str, float]]:
    """Trains on the training split and validates on the validation split; returns the history."""
    from keras_bert.data import task_dataset
    from keras_bert.records import read_features
    from keras_bert.trainer import VALIDATION_BATCH, Trainer

    steps = training.count_steps(read_features(examples.path)["counts"]["train"])
    return Trainer(network, objective, training, steps).fit(
        training_rows(examples, training),
        validation=task_dataset(examples.path, "validation", VALIDATION_BATCH, bucket_boundaries=LENGTH_BUCKETS),
        on_progress=report_progress,
    )


def training_rows(examples: TaskExamples, training: Training) -> "tf.data.Dataset":
    """Shuffled batches of training rows, without end."""
    from keras_bert.data import task_dataset

    return task_dataset(
        examples.path,
        "train",
        training.batch_size,
        seed=training.seed,
        shuffle=True,
        repeat=True,
        bucket_boundaries=LENGTH_BUCKETS,
    )
