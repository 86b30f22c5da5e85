"""How far a training is: its validations count as work, like its steps, and compiling does not."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.dsl.workplace import ProgressSink
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from keras_bert.training.trainer import Trainer

# The share of a forward pass in the work of a step: the pass backward is about twice as much (Kaplan et al. 2020,
# section 2.1).
_FORWARD = 1 / 3

# Steps in a row without a batch of a new shape after which compiling counts as done; as many are timed then, before
# there is a rate to tell.
STEADY = 5


def forward_work(rows: int, training: Training) -> float:
    """The work of scoring rows, in steps of a training."""
    return _FORWARD * rows / training.batch_size


def training_work(counts: Mapping[str, int], training: Training, validations: int) -> float:
    """The work of a training, in its steps.

    Args:
        counts: the rows of `train` and `validation`.
        training: how long and how to train.
        validations: how many there are.
    """
    return training.count_steps(counts["train"]) + validations * forward_work(counts["validation"], training)


class TrainingProgress:
    """Takes the steps of `Trainer.fit` and reports the work that is done, in steps; validations are `forward_work`.

    A total of 0 goes to the sink while batches of new shapes are compiled, which may take longer than hundreds of
    steps, and nothing while the first steps after that are timed. Later on, what a rare shape takes is not told apart.

    Args:
        trainer: whose steps they are.
        validation_rows: rows of a validation.
        validations: see `Trainer.fit`.
        sink: takes the reports.
    """

    def __init__(self, trainer: "Trainer", validation_rows: int, validations: int, sink: ProgressSink) -> None:
        from keras_bert.training.loop import validation_steps

        self._trainer, self._sink, self._is_timed = trainer, sink, False
        self._validation = forward_work(validation_rows, trainer.training)
        self._validate_at = validation_steps(trainer.steps, validations)

    def __call__(self, step: int, steps: int, note: str) -> None:
        """What `Trainer.fit` calls after each step."""
        steady = step - self._trainer.fresh_step
        self._is_timed = self._is_timed or steady >= 2 * STEADY or step == steps
        if self._is_timed or steady == STEADY:
            self._sink(self._work(step), self._work(steps), note)
        elif steady < STEADY:
            self._sink(0, 0, "compiling")

    def _work(self, step: int) -> float:
        return step + self._validation * sum(place <= step for place in self._validate_at)
