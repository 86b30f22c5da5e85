"""Training on rows of a task or of plain text, as fine-tuning, distillation, pruning and quantization do it."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.data import TaskExamples, TextExamples
from components.dsl.workplace import ProgressParts, workplace
from components.training.progress import TrainingProgress, forward_work, training_work
from keras_bert.core.row_limits import LENGTH_BUCKETS
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from keras_bert.data.batches import Batches
    from keras_bert.objectives.base import Objective

# The default number of validations of a training.
VALIDATIONS = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingPhase:
    """One of several trainings of a step.

    Attributes:
        name: the folder of its checkpoints and its record; empty for the last training.
        earlier: the work of the trainings before, in steps.
        later: the work of the trainings after, in steps.
    """

    name: str = ""
    earlier: float = 0.0
    later: float = 0.0


def train_on_rows(
    network: "keras.Model",
    objective: "Objective",
    examples: TaskExamples | TextExamples,
    training: Training,
    *,
    select: str | None = None,
    patience: int | None = None,
    validations: int = VALIDATIONS,
    scored_after: int = 0,
    variables: "Sequence[tf.Variable]" = (),
    after_step: Callable[[int], None] | None = None,
    phase: TrainingPhase = TrainingPhase(),
) -> list[dict[str, float]]:
    """Trains on the training split and validates on the validation split; resumes where it was interrupted.

    Must be called in the scope of the strategy that the network was built in.

    `scored_after` is the number of rows that the step scores after the training, for its progress. See `Trainer` for
    `variables` and `after_step`, and `Trainer.fit` for `select`, `patience` and `validations`.

    Returns:
        The training history, one entry a report.
    """
    from keras_bert.data.records import read_features
    from keras_bert.data.task_batches import task_batches
    from keras_bert.training.trainer import Trainer, validation_rows

    content = read_features(examples.path)
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
        validations=validations,
        **training_folders(training, phase.name),
    )


def training_rows(examples: TaskExamples | TextExamples, training: Training) -> "Batches":
    """Shuffled batches of training rows."""
    from keras_bert.data.task_batches import task_batches

    return task_batches(
        examples.path,
        "train",
        training.part_size,
        seed=training.seed,
        shuffle=True,
        bucket_boundaries=LENGTH_BUCKETS,
    )


def training_folders(training: Training, phase: str = "") -> dict[str, Any]:
    """The folders of the checkpoints and the record of a seed and a phase, as arguments of `Trainer.fit`."""
    place = workplace()
    folders = {"checkpoints": place.checkpoints, "record": place.record}
    return {name: folder and folder / f"seed-{training.seed}" / phase for name, folder in folders.items()}
