"""Progress of a training: validations count as work, like steps, and compiling does not."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.dsl.workplace import ProgressSink
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from keras_bert.training.trainer import Trainer

# The share of the forward pass in the work of a step: the backward pass takes about twice as much (Kaplan et al. 2020,
# section 2.1).
_FORWARD = 1 / 3

# Compiling counts as done after this many steps without a batch of a new shape; as many further steps are timed before
# a rate is reported.
STEADY = 5


def forward_work(rows: int, training: Training) -> float:
    """The work of scoring rows, in training steps."""
    return _FORWARD * rows / training.batch_size


def training_work(counts: Mapping[str, int], training: Training, validations: int) -> float:
    """The work of a training, in training steps."""
    return training.count_steps(counts["train"]) + validations * forward_work(counts["validation"], training)


class TrainingProgress:
    """Reports the finished work of `Trainer.fit`, in steps; a validation counts as `forward_work`.

    While batches of new shapes are compiled, which may take longer than hundreds of steps, the sink gets a total of 0.
    It gets nothing while the first steps after that are timed. A rare shape that comes later is not reported.

    Args:
        trainer: the trainer that makes the steps.
        validation_rows: the number of rows of a validation.
        validations: the number of validations.
        sink: is called with the reports.
    """

    def __init__(self, trainer: "Trainer", validation_rows: int, validations: int, sink: ProgressSink) -> None:
        from keras_bert.training.loop import validation_steps

        self._trainer, self._sink, self._is_timed = trainer, sink, False
        self._validation = forward_work(validation_rows, trainer.training)
        self._validate_at = validation_steps(trainer.steps, validations)

    def __call__(self, step: int, steps: int, note: str) -> None:
        """Reports a step; `Trainer.fit` calls it after each."""
        steady = step - self._trainer.fresh_step
        self._is_timed = self._is_timed or steady >= 2 * STEADY or step == steps
        if self._is_timed or steady == STEADY:
            self._sink(self._work(step), self._work(steps), note)
        elif steady < STEADY:
            self._sink(0, 0, "compiling")

    def _work(self, step: int) -> float:
        return step + self._validation * sum(place <= step for place in self._validate_at)
