"""Training from the first step to the last, whatever interrupts it."""

from pathlib import Path

import keras
import tensorflow as tf

from keras_bert.row_limits import rows_at_once
from keras_bert.training.graph_memory import custom_gradients_forgotten
from keras_bert.training.history import Entry
from keras_bert.training.loop import Loop, OnProgress
from keras_bert.training.step import Batches, TrainingStep

# Rows of a held-out batch: nothing is learnt from it, so it may be larger than a training batch, and faster.
VALIDATION_BATCH = 64


def validation_rows(length: int) -> int:
    """Rows of a held-out batch whose longest row may have so many tokens: few of long ones, for want of memory."""
    return rows_at_once(VALIDATION_BATCH, length)


def make_deterministic(seed: int) -> None:
    """Fixes every source of chance in this process; call it before a model is built."""
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


class Trainer(TrainingStep):
    """Minimizes an objective, see `TrainingStep`, whose arguments these are."""

    def fit(
        self,
        batches: Batches,
        *,
        validation: Batches,
        on_progress: OnProgress,
        log_every: int = 50,
        validations: int = 4,
        select: str | None = None,
        patience: int | None = None,
        checkpoints: Path | None = None,
        checkpoint_seconds: float = 60.0,
        record: Path | None = None,
    ) -> list[Entry]:
        """Makes all the optimizer steps, or those that are missing where there are checkpoints.

        Args:
            batches: of `Training.part_size` rows.
            validation: held-out batches; one epoch of them is read at every validation.
            on_progress: told steps done, steps in all and a few words.
            log_every: steps between two entries of the history.
            validations: how often to validate, evenly spread; the last time after the last step.
            select: the held-out metric whose best value decides which weights are kept at the end; one whose name ends
                with `loss`, `error` or `perplexity` is better when it is smaller. None for the last weights.
            patience: validations without a better value after which to stop; None for all steps.
            checkpoints: a folder for what is needed to go on after an interruption: the weights, bit for bit, are those
                of a training that nothing interrupted. It is for one training: of another model, other data, settings
                or objective none goes on. None for no checkpoints.
            checkpoint_seconds: the least time from one checkpoint to the next; longer where to save one takes more
                than a twentieth of that. 0 for one after every step.
            record: a folder for what can be watched meanwhile, see `RunningRecord`; None for none.

        Returns:
            The history: `step`, `learning_rate`, `gradient_norm` and the mean of each metric since the entry before,
            some entries with the held-out means as `validation_...`.

        Raises:
            NonFiniteLossError: a metric is not a finite number.
            StoppedError: a signal asked to stop; there is a checkpoint, if there is a place for one.
            CheckpointError: there are checkpoints, but of another training, or damaged ones only; tells which part of
                it is another.
            ValueError: there are no batches to validate on, or no such metric to select by.
        """
        loop = Loop(self, batches, validation, on_progress, log_every, validations, select, patience)
        with custom_gradients_forgotten():
            return loop.run(checkpoints, checkpoint_seconds, record)
