"""Training on rows of a task or of plain text: what fine-tuning, distillation and quantization share."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.task_examples import TaskExamples
from components.artifacts.text_examples import TextExamples
from components.dsl.workplace import Stages, workplace
from components.training.progress import TrainingProgress, forward_work, training_work
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from keras_bert.data.batches import Batches
    from keras_bert.objectives.base import Objective

# Rows stand beside others of about their length: most are short, and padding is work like any other. But each length is
# compiled for by itself, which takes seconds.
LENGTH_BUCKETS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144)


# Validations of a training where nobody chooses.
VALIDATIONS = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """Which of its trainings a step is at, where it has several.

    Attributes:
        name: tells its checkpoints and its record from those of the others; empty for the last one.
        earlier: work that is done, in steps.
        later: work of the trainings to come.
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
    stage: Stage = Stage(),
) -> list[dict[str, float]]:
    """Trains on the training split and validates on the validation split; goes on where it was interrupted.

    Call it in the scope of the strategy that the network was built in.

    Args:
        network: the model to train.
        objective: what is minimized.
        examples: labelled rows of any task, or rows of text.
        training: how long and how to train.
        select: see `Trainer.fit`, as are the next two.
        patience: see there.
        validations: see there.
        scored_after: rows that the step scores when the training is over: work that is still to come.
        variables: see `Trainer`, as is the next one.
        after_step: see there.
        stage: of the step's trainings.

    Returns:
        The history.
    """
    from keras_bert.data.records import read_features
    from keras_bert.data.task_batches import task_batches
    from keras_bert.training.trainer import Trainer, validation_rows

    content = read_features(examples.path)
    counts, rows = content["counts"], validation_rows(content["max_length"])
    later = stage.later + forward_work(scored_after, training)
    stages = Stages([stage.earlier, training_work(counts, training, validations), later])
    steps = training.count_steps(counts["train"])
    trainer = Trainer(network, objective, training, steps, variables=variables, after_step=after_step)
    return trainer.fit(
        training_rows(examples, training),
        validation=task_batches(examples.path, "validation", rows, bucket_boundaries=LENGTH_BUCKETS),
        on_progress=TrainingProgress(trainer, counts["validation"], validations, stages.sink(1)),
        select=select,
        patience=patience,
        validations=validations,
        **training_folders(training, stage.name),
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


def training_folders(training: Training, stage: str = "") -> dict[str, Any]:
    """Where each seed and stage leaves its checkpoints and its record, as arguments of `Trainer.fit`."""
    place = workplace()
    folders = {"checkpoints": place.checkpoints, "record": place.record}
    return {name: folder and folder / f"seed-{training.seed}" / stage for name, folder in folders.items()}
