"""Trains a task in phases; its rows may be in memory or in files."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import keras
import tensorflow as tf

from keras_bert.objectives.base import Batch, Objective
from keras_bert.options.training import Training
from keras_bert.tasks.base import Task
from keras_bert.tasks.calibration import Calibration
from keras_bert.training.history import Entry
from keras_bert.training.seeds import seed_dropout
from keras_bert.training.step import BatchSource, TrainingStep
from keras_bert.training.trainer import Trainer, validation_rows


class TrainingBatches(BatchSource, Protocol):
    """Numbered batches whose first ones can be read alone."""

    def first(self, count: int) -> Iterable[Batch]:
        """The first batches of epoch 0, or all of its batches if there are fewer."""


class BatchedRows(Protocol):
    """Rows that a task learns from: `ArrayRows` in memory, `RecordRows` in files.

    Attributes:
        task: the name of the task, or `TEXT` for texts without labels.
        count: number of training rows.
        max_length: maximum number of tokens of a row.
        has_answers: whether batches hold a teacher's answers.
    """

    task: str
    count: int
    max_length: int
    has_answers: bool

    def training_batches(self, size: int, seed: int) -> TrainingBatches:
        """Shuffled batches of the training rows."""

    def validation_batches(self, size: int) -> BatchSource | None:
        """Batches of the validation rows; None if there are none."""


class Monitor(Protocol):
    """Shows and stores the progress of a training, with a number of validations in each phase."""

    validations: int

    def fit_options(self, step: TrainingStep, steps: Sequence[int], phase: int) -> Mapping[str, Any]:
        """The arguments `on_progress`, `checkpoints` and `record` of `Trainer`, for one of phases with `steps`."""


def train(
    task: Task,
    network: keras.Model,
    phases: Sequence[tuple[Objective, int]],
    rows: BatchedRows,
    training: Training,
    monitor: Monitor,
    *,
    select: tuple[str, ...] = (),
    patience: int | None = None,
    compare_start: bool = False,
    variables: Sequence[tf.Variable] = (),
    after_step: Callable[[int], None] | None = None,
) -> list[Entry]:
    """Trains a task in phases, each with an objective, a number of steps and a new optimizer, from the first batch on.

    `network` is the task's, or has it inside. Dropout starts from the seed, whatever the model was used for before, and
    the task loses its calibration. Must be called in the scope of the strategy that the model was built in; see
    `Trainer` and `TrainingStep` for the last arguments. Returns the history, in which the steps of all phases are
    counted together.
    """
    batches = rows.training_batches(training.micro_batch_size, training.seed)
    validation = rows.validation_batches(validation_rows(rows.max_length))
    seed_dropout(network, training.seed)
    history, steps = list[Entry](), [count for _, count in phases]
    for phase, (objective, count) in enumerate(phases):
        plan = dataclasses.replace(training, steps=count)
        step = TrainingStep(network, objective, plan, count, variables=variables, after_step=after_step)
        trainer = Trainer(
            step,
            batches,
            # Without validation rows there are no validations, and the trainer does not read this argument.
            validation=validation or batches,
            validations=monitor.validations if validation else 0,
            select=select,
            patience=patience,
            compare_start=compare_start,
            **monitor.fit_options(step, steps, phase),
        )
        history += [{**entry, "step": entry["step"] + sum(steps[:phase])} for entry in trainer.fit()]
    task.calibration = Calibration()
    return history
