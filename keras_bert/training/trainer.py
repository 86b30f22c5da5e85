"""Trains a model, and resumes an interrupted training from its checkpoints."""

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

from keras_bert.core.row_limits import limit_batch_size
from keras_bert.training.history import Entry
from keras_bert.training.loop import Loop, OnProgress
from keras_bert.training.step import BatchSource, TrainingStep, seed_states
from keras_bert.training.stop_request import stop_requests

# Rows of a validation batch. It may be larger than a training batch, which is faster, as it does not change the result.
VALIDATION_BATCH = 64


def validation_rows(length: int) -> int:
    """Rows of a validation batch with rows of up to `length` tokens; fewer for long rows, to bound memory."""
    return limit_batch_size(VALIDATION_BATCH, length)


class Trainer(TrainingStep):
    """Trains a model with AdamW under any `tf.distribute` strategy; for the arguments see `TrainingStep`.

    The model and the objective are those of a task, `task.model` and `task.objective()`; `fit` trains the model and
    returns the history of the training.
    """

    def fit(
        self,
        batches: BatchSource,
        *,
        validation: BatchSource,
        on_progress: OnProgress,
        log_every: int | None = None,
        validations: int = 4,
        select: str | None = None,
        patience: int | None = None,
        compare_start: bool = False,
        checkpoints: Path | None = None,
        checkpoint_seconds: float = 60.0,
        record: Path | None = None,
    ) -> list[Entry]:
        """Runs all optimizer steps, or the remaining ones if there is a checkpoint.

        Args:
            batches: training batches of `Training.micro_batch_size` rows.
            validation: validation batches; every validation reads one epoch.
            on_progress: called with the number of finished steps, the number of all steps and a short description.
            log_every: number of steps between two entries of the history; None for even distances, see `entry_steps`.
            validations: number of validations, evenly spread; the last one follows the last step.
            select: the validation metric whose best value chooses the weights to keep. Smaller is better if its name
                ends with `loss`, `error` or `perplexity`. None keeps the last weights.
            patience: number of validations without improvement after which training stops; None for no early stopping.
            compare_start: whether the weights from before the first step are among those that `select` compares.
            checkpoints: a folder for checkpoints, the same for all workers; the chief writes them. A resumed training
                ends with the same weights, bit for bit, as an uninterrupted one. It may resume on another number of
                devices, but then sums are rounded differently. Checkpoints of another model, data, objective or
                settings are refused. None writes no checkpoints.
            checkpoint_seconds: minimum time between checkpoints in seconds. It is prolonged so that saving takes at
                most a twentieth of the time. 0 saves after every step.
            record: a folder for `RunningRecord`, which shows a running training; None writes none.

        Returns:
            The history: `step`, `learning_rate`, `gradient_norm` and the mean of every metric since the previous entry;
            entries with a validation also have its metrics as `validation_...`.

        Raises:
            NonFiniteLossError: a metric is not finite. After this and all other errors, a model without checkpoints has
                the best weights so far, or those from before the training if none were selected.
            LostWorkerError: another worker of `TF_CONFIG` was stopped, has ended or cannot be reached.
            StoppedError: a signal stopped the training; there is a checkpoint if `checkpoints` is given.
            CheckpointError: the checkpoints belong to another training, which the message describes, or all of them
                are corrupted.
            ValueError: there are no validation batches, or there is no metric `select`.
        """
        choice = (log_every, validations, select, patience, compare_start)
        loop = Loop(self, batches, validation, on_progress, *choice, checkpoints, checkpoint_seconds)
        with temporary_custom_gradients(), self.devices.lost_workers_as_errors():
            loop.resume()
            with loop.undone_after_errors(), loop.recorded(record), stop_requests() as request:
                loop.run_steps(request)
            return loop.finish(request)


def make_deterministic(seed: int) -> None:
    """Seeds all random generators of this process and makes operations deterministic; call it before model building."""
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


@contextlib.contextmanager
def seeded_weights(seed: int) -> Iterator[None]:
    """Inside of the block, Keras draws the weights of new layers by a seed; other random numbers stay as they were."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


def seed_dropout(model: keras.Model, seed: int) -> None:
    """Starts the random generators of a model's layers by a seed."""
    states = seed_states(model)
    for state, number in zip(states, np.random.default_rng(seed).integers(2**31, size=len(states)), strict=True):
        state.assign([number, 0])


@contextlib.contextmanager
def temporary_custom_gradients() -> Iterator[None]:
    """On exit, unregisters the custom gradients of all functions that were traced inside the block.

    TensorFlow registers the gradient of every call of a function with a custom gradient under a new name and never
    removes it, nor the graph and the variables that it refers to. A process that trained several models kept the
    weights and moments of all of them, 240 MB for 15 million parameters, and every training was slower than the one
    before. A name is looked up only while a gradient is traced, so the functions still run and can be traced again.
    """
    registry = ops.gradient_registry._registry
    previous_names = set(registry)
    try:
        yield
    finally:
        for name in [name for name in registry if name.startswith("CustomGradient-") and name not in previous_names]:
            del registry[name]
