"""Training under any `tf.distribute` strategy: the same seeds and data give the same weights, bit for bit, on a CPU."""

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from keras_bert.config import Training
from keras_bert.optimizer import adamw

logger = logging.getLogger(__name__)

# Rows of a held-out batch: nothing is learnt from it, so it may be larger than a training batch, and faster.
VALIDATION_BATCH = 64

Batch = Mapping[str, Any]
Sums = dict[str, tuple[Any, Any]]


class Objective(Protocol):
    """What a step minimizes."""

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> tuple[Any, Sums]:
        """Answers with the loss, and each metric as (sum, weight).

        On several devices each has its part of the batch, and the mean of their losses is minimized.
        """


class NonFiniteLossError(ArithmeticError):
    """The loss became NaN or infinite."""


def make_deterministic(seed: int) -> None:
    """Fixes every source of chance in this process; call it before a model is built."""
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


class Trainer:
    """Runs an objective over batches with AdamW.

    Args:
        model: the model to train, built under the scope of `strategy`.
        objective: see `Objective`.
        training: learning rate and the other constants of the optimizer.
        steps: optimizer steps in all, as `Training.count_steps` tells.
        strategy: where to run; the current one if None.
    """

    def __init__(
        self,
        model: keras.Model,
        objective: Objective,
        training: Training,
        steps: int,
        strategy: tf.distribute.Strategy | None = None,
    ) -> None:
        self.model, self.objective, self.steps = model, objective, steps
        self.strategy = strategy or tf.distribute.get_strategy()
        with self.strategy.scope():
            self.optimizer = adamw(
                training.learning_rate,
                steps,
                warmup=training.warmup,
                weight_decay=training.weight_decay,
                # What the optimizer clips is one replica's share of the gradient.
                clip_norm=training.clip_norm / self.strategy.num_replicas_in_sync,
            )
            self.optimizer.build(model.trainable_variables)
        # Batches come in several lengths; one graph for all of them is traced once.
        self._train_step = tf.function(self._distribute(self._train_replica), reduce_retracing=True)
        self._test_step = tf.function(self._distribute(self._test_replica), reduce_retracing=True)

    def _train_replica(self, batch: Batch) -> Sums:
        weights = self.model.trainable_variables
        with tf.GradientTape() as tape:
            loss, sums = self.objective(self.model, batch, training=True)
            # The optimizer adds up what the replicas give it.
            share = loss / self.strategy.num_replicas_in_sync
        found = [pair for pair in zip(tape.gradient(share, weights), weights, strict=True) if pair[0] is not None]
        # A sparse gradient, as embeddings have, may hold a row in parts, and then its norm is not the gradient's.
        gradients = [tf.convert_to_tensor(gradient) for gradient, _ in found]
        if self.strategy.num_replicas_in_sync > 1:
            # Keras clips before it adds up: by then every replica must hold what all of them found.
            gradients = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
        self.optimizer.apply(gradients, [weight for _, weight in found])
        return sums

    def _test_replica(self, batch: Batch) -> Sums:
        return self.objective(self.model, batch, training=False)[1]

    def _distribute(self, replica: Callable[[Batch], Sums]) -> Callable[[Batch], Sums]:
        def step(batch: Batch) -> Sums:
            sums = self.strategy.run(replica, (batch,))
            add = tf.distribute.ReduceOp.SUM
            return {
                name: (self.strategy.reduce(add, total, axis=None), self.strategy.reduce(add, weight, axis=None))
                for name, (total, weight) in sums.items()
            }

        return step

    def fit(
        self,
        batches: Iterable[Batch],
        *,
        validation: Iterable[Batch],
        on_progress: Callable[[int, int, str], None],
        log_every: int = 50,
        validations: int = 4,
    ) -> list[dict[str, float]]:
        """Makes all the optimizer steps.

        Args:
            batches: at least as many as there are steps; a `tf.data.Dataset` where there are several devices.
            validation: held-out batches, read anew at every validation; likewise.
            on_progress: told steps done, steps in all and a few words.
            log_every: steps between two entries of the history.
            validations: how often to validate, evenly spread; the last time after the last step.

        Returns:
            The history: `step`, `learning_rate` and the mean of each metric since the entry before, some
            entries with the held-out means as `validation_...`.

        Raises:
            NonFiniteLossError: a metric is not a finite number.
            ValueError: the batches ran out before the last step, or there are none to validate on.
        """
        history: list[dict[str, float]] = []
        window: list[Sums] = []
        source = self._take(batches)
        validate_at = {round(self.steps * (index + 1) / validations) for index in range(validations)}
        note = ""
        since = time.monotonic()
        for step in range(1, self.steps + 1):
            window.append(self._train_step(next(source)))
            if step % log_every == 0 or step in validate_at or step == self.steps:
                means = _means(window)
                logger.info("%.2f steps a second", len(window) / (time.monotonic() - since))
                entry = {"step": step, "learning_rate": self._learning_rate(step), **means}
                _check_finite(entry)
                if step in validate_at:
                    entry |= {f"validation_{name}": value for name, value in self.evaluate(validation).items()}
                    _check_finite(entry)
                history.append(entry)
                logger.info("%s", json.dumps(entry))
                note = ", ".join(f"{name} {value:.3f}" for name, value in list(means.items())[:2])
                window, since = [], time.monotonic()
            on_progress(step, self.steps, note)
        return history

    def evaluate(self, batches: Iterable[Batch]) -> dict[str, float]:
        """The mean of each metric over all the batches, with dropout off.

        Raises:
            ValueError: there are no batches.
        """
        window = [self._test_step(batch) for batch in self._distributed(batches)]
        if not window:
            raise ValueError("there must be at least one batch to evaluate on, got none")
        return _means(window)

    def _distributed(self, batches: Iterable[Batch]) -> Iterable[Batch]:
        if self.strategy.num_replicas_in_sync == 1:
            return batches
        return self.strategy.experimental_distribute_dataset(batches)

    def _take(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        yield from self._distributed(batches)
        raise ValueError(f"there must be a batch for each of the {self.steps} steps, but the batches ran out")

    def _learning_rate(self, step: int) -> float:
        return float(self.optimizer._learning_rate(step - 1))


def write_history(history: list[dict[str, float]], path: Path) -> None:
    """Writes one JSON object a line; no times, so that equal trainings give equal files."""
    path.write_text("".join(json.dumps(entry, sort_keys=True) + "\n" for entry in history))


def _means(window: list[Sums]) -> dict[str, float]:
    names = window[0].keys()
    totals = {name: np.sum([[float(part) for part in sums[name]] for sums in window], axis=0) for name in names}
    return {name: float(total / weight) if weight else math.nan for name, (total, weight) in totals.items()}


def _check_finite(entry: Mapping[str, float]) -> None:
    for name, value in entry.items():
        if not math.isfinite(value):
            raise NonFiniteLossError(
                f"{name} is {value} at step {entry['step']}: the usual cause is a learning rate that is too high "
                f"(it was {entry['learning_rate']:.2g})"
            )
