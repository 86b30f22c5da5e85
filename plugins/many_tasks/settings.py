"""The tables of a job of several tasks."""

from typing import Annotated, Literal

import pydantic

from components.scoring.blessing import Thresholds
from keras_bert.core.validation import validated_dataclass
from keras_bert.options.tables import ClassWeights
from pipeline.settings.schema import MAX_LENGTH, Examples


@validated_dataclass
class TaskThresholds(Thresholds):
    """Requirements for one task of a job of several.

    Attributes:
        required: whether the files are pushed only if this task meets its limits; if not, a limit that it misses is a
            warning.
    """

    required: bool = True


@validated_dataclass
class TaskTable:
    """A task of a job of several: its rows, its weights in the joint trainings, and its limits.

    Attributes:
        examples: the rows, see the table `examples` of a job of one task.
        evaluation: the limits of a push, for this task alone.
        max_length: maximum number of tokens of an input, 8 to 8192; that of the job if it is not set.
        share: a factor of the loss of this task in joint trainings.
        class_weights: see `fine_tuning.class_weights`, which a job of several tasks does not have.
        compare_single: whether the same models are also made of this task alone, to show in its table of scores what
            sharing an encoder costs. It takes the time of a job of the task.
    """

    examples: Examples
    evaluation: TaskThresholds = TaskThresholds()
    max_length: Annotated[int, pydantic.Field(ge=8, le=MAX_LENGTH)] | None = None
    share: pydantic.PositiveFloat = 1.0
    class_weights: ClassWeights = "none"
    compare_single: bool = False


@validated_dataclass
class Sharing:
    """How the tasks of a job are trained together.

    Attributes:
        temperature: how often small tasks have a turn, at least 1: a task with n rows has batches in proportion to
            n^(1 / temperature). 1 takes each row once an epoch.
        teachers: whose answers the student learns: one `joint` model of all tasks, or one `single` model of each task,
            which is fine-tuned for it alone.
    """

    temperature: Annotated[float, pydantic.Field(ge=1)] = 1.0
    teachers: Literal["joint", "single"] = "joint"
