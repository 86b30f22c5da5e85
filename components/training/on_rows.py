"""Training on rows of a task or of plain text, as fine-tuning, distillation, pruning and quantization do it."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.standard import TaskExamples, TextExamples
from components.dsl.step_folders import ProgressParts, ProgressSink, step_folders
from keras_bert.core.row_limits import LENGTH_BUCKETS
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from keras_bert.data.batches import Batches
    from keras_bert.objectives.base import Objective
    from keras_bert.training.trainer import Trainer

# The default number of validations of a training.
VALIDATIONS = 2

# The share of the forward pass in the work of a step: the backward pass takes about twice as much (Kaplan et al. 2020,
# section 2.1).
_FORWARD = 1 / 3

# Compiling counts as done after this many steps without a batch of a new shape; as many further steps are timed before
# a rate is reported.
STEADY = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingPhase:
    """One of several trainings of a step.

    Attributes:
        name: the folder of its checkpoints and its record; empty for the last training.
    """

    name: str = ""
    earlier: float = 0.0
    later: float = 0.0


@contextlib.contextmanager
def reproducible_scope(seed: int) -> Iterator[None]:
    """The scope of the strategy of this process, in which the same arguments give the same weights."""
    from keras_bert.training.devices import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(seed)
    with find_strategy().scope():
        yield


def train_on_rows(
    network: "keras.Model",
    objective: "Objective",
    examples: TaskExamples | TextExamples,
    training: Training,
    *,
    select: str | None = None,
    patience: int | None = None,
    compare_start: bool = False,
    validations: int = VALIDATIONS,
    scored_after: int = 0,
    variables: "Sequence[tf.Variable]" = (),
    after_step: Callable[[int], None] | None = None,
    phase: TrainingPhase = TrainingPhase(),
) -> list[dict[str, float]]:
    """Trains on the training split and validates on the validation split; resumes where it was interrupted.

    Returns the history. Must be called in the scope of the strategy that the network was built in.

    `scored_after` is the number of rows that the step scores after the training, for its progress. See `Trainer` for
    `variables` and `after_step`, and `Trainer.fit` for `select`, `patience`, `compare_start` and `validations`.
    """
    from keras_bert.data.task_batches import task_batches
    from keras_bert.training.trainer import Trainer, validation_rows

    content = examples.features()
    counts, rows = content["counts"], validation_rows(content["max_length"])
    later = phase.later + forward_work(scored_after, training)
    progress = ProgressParts([phase.earlier, training_work(counts, training, validations), later])
    steps = training.count_steps(counts["train"])
    trainer = Trainer(network, objective, training, steps, variables=variables, after_step=after_step)
    return trainer.fit(
        training_rows(examples, training),
        validation=task_batches(examples.path, "validation", rows, bucket_boundaries=LENGTH_BUCKETS),
        on_progress=TrainingProgress(trainer, counts["validation"], validations, progress.sink(1)),
        select=select,
        patience=patience,
        compare_start=compare_start,
        validations=validations,
        **training_folders(training, phase.name),
    )


def training_rows(examples: TaskExamples | TextExamples, training: Training) -> "Batches":
    """Shuffled batches of training rows."""
    from keras_bert.data.task_batches import task_batches

    return task_batches(
        examples.path,
        "train",
        training.micro_batch_size,
        seed=training.seed,
        shuffle=True,
        bucket_boundaries=LENGTH_BUCKETS,
    )


def training_folders(training: Training, phase: str = "") -> dict[str, Any]:
    """The folders of the checkpoints and the record of a seed and a phase, as arguments of `Trainer.fit`."""
    folders_of_step = step_folders()
    folders = {"checkpoints": folders_of_step.checkpoints, "record": folders_of_step.record}
    return {name: folder and folder / f"seed-{training.seed}" / phase for name, folder in folders.items()}


def forward_work(rows: int, training: Training) -> float:
    """The work of scoring rows, in training steps."""
    return _FORWARD * rows / training.batch_size


def training_work(counts: Mapping[str, int], training: Training, validations: int) -> float:
    """The work of a training, in training steps."""
    return training.count_steps(counts["train"]) + validations * forward_work(counts["validation"], training)


class TrainingProgress:
    """Reports the finished work of `Trainer.fit`, in steps; a validation counts as `forward_work`.

    While batches of new shapes are compiled, which may take longer than hundreds of steps, the total is 0. While the
    first steps after that are timed, nothing is reported. The compilation of a rare shape later on is not reported.
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
        return step + self._validation * sum(validated <= step for validated in self._validate_at)
