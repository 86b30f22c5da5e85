"""The table `[search]` of a job file: which values `search` tries for the settings of a job."""

from typing import Annotated, Any, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import PositiveShare, validated_dataclass
from keras_bert.options.data import Pooling
from pipeline.capability import Capability
from pipeline.settings.schema import Settings

PositiveRange = tuple[pydantic.PositiveFloat, ...]
ShareRange = tuple[PositiveShare, ...]
Counts = tuple[pydantic.PositiveInt, ...]


def _check_choices(owner: str, field: str, values: tuple[Any, ...] | None) -> None:
    if values is not None:
        check(owner, field, len(values) > 0, "not be empty", list(values))
        check(owner, field, len({*values}) == len(values), "hold each value once", list(values))


@validated_dataclass
class TrainingSpace:
    """The values that `search` tries for the settings of a training; a single value is not searched.

    Attributes:
        learning_rate: the least and the largest; None for a fifth of the job's and five times the job's.
        epochs: the least and the largest; None for half of the job's and twice the job's.
        steps: likewise in place of `epochs`, in a job that sets `steps`.
        batch_size: all values; None for half of the job's, the job's and twice the job's.
        layer_decay: the least and the largest; None for 0.7 to 1, or from the job's if that is lower.
    """

    learning_rate: PositiveRange | None = None
    epochs: PositiveRange | None = None
    steps: Counts | None = None
    batch_size: Counts | None = None
    layer_decay: ShareRange | None = None

    @pydantic.model_validator(mode="after")
    def _check_values(self) -> Self:
        for name in ("learning_rate", "epochs", "steps", "layer_decay"):
            ends = getattr(self, name)
            if ends is not None:
                check("TrainingSpace", name, len(ends) in (1, 2), "hold one value or two", list(ends))
                check(
                    "TrainingSpace", name, len(ends) == 1 or ends[0] < ends[1], "begin with its least value", list(ends)
                )
        _check_choices("TrainingSpace", "batch_size", self.batch_size)
        return self


@validated_dataclass
class StudentSpace:
    """The values that `search` tries for the student's depth.

    Attributes:
        num_layers: all values; None for the job's, two thirds and one third of it.
    """

    num_layers: Counts | None = None

    @pydantic.model_validator(mode="after")
    def _check_layers(self) -> Self:
        _check_choices("StudentSpace", "num_layers", self.num_layers)
        return self


@validated_dataclass
class SearchSettings:
    """Settings of the command `search`, which no step reads.

    Attributes:
        finalists: number of the best settings that are trained with several seeds, 1 to 20, besides the job's own.
        pooling: the values of `pooling` to try; None for both.
        fine_tuning: the values to try in `[fine_tuning]`.
        student: the values to try in `[student]`.
        distillation: the values to try in `[distillation]`.
    """

    finalists: Annotated[int, pydantic.Field(ge=1, le=20)] = 3
    pooling: tuple[Pooling, ...] | None = None
    fine_tuning: TrainingSpace = TrainingSpace()
    student: StudentSpace = StudentSpace()
    distillation: TrainingSpace = TrainingSpace()

    @pydantic.model_validator(mode="after")
    def _check_pooling(self) -> Self:
        _check_choices("SearchSettings", "pooling", self.pooling)
        return self


class SearchCapability(Capability[SearchSettings]):
    """The values that the command `search` tries; the steps of a run do not read them."""

    name = "search"
    table = SearchSettings
    purpose = "the values that the command `search` tries for settings"


def search_settings(settings: Settings) -> SearchSettings:
    """The table of a job, or the defaults if the job has none."""
    return getattr(settings, "search", None) or SearchSettings()
