"""The table `[tune]`: which values `tune` tries for the settings of a job."""

from typing import Annotated, Any, Self

import pydantic

from keras_bert.checks import check
from keras_bert.options.pooling import Pooling
from keras_bert.validation import PositiveShare, validated_dataclass

# A range: its least and its largest value; a single value is not searched.
_ENDS = pydantic.Field(min_length=1, max_length=2)
PositiveRange = Annotated[tuple[pydantic.PositiveFloat, ...], _ENDS]
ShareRange = Annotated[tuple[PositiveShare, ...], _ENDS]
StepsRange = Annotated[tuple[pydantic.PositiveInt, ...], _ENDS]
Counts = Annotated[tuple[pydantic.PositiveInt, ...], pydantic.Field(min_length=1)]


def _check_different(owner: str, field: str, values: tuple[Any, ...] | None) -> None:
    is_different = values is None or len({*values}) == len(values)
    check(owner, field, is_different, "hold each value once", values and list(values))


@validated_dataclass
class TrainingSpace:
    """The values that `tune` tries for the settings of a training; a single value is not searched.

    Attributes:
        learning_rate: the least and the largest; None for a fifth of the job's and five times the job's.
        epochs: the least and the largest; None for half of the job's and twice the job's.
        steps: likewise in place of `epochs`, in a job that sets `steps`.
        batch_size: all values; None for half of the job's, the job's and twice the job's.
        layer_decay: the least and the largest; None for 0.7 to 1, or from the job's if that is lower.
    """

    learning_rate: PositiveRange | None = None
    epochs: PositiveRange | None = None
    steps: StepsRange | None = None
    batch_size: Counts | None = None
    layer_decay: ShareRange | None = None

    @pydantic.model_validator(mode="after")
    def _check_order(self) -> Self:
        for name in ("learning_rate", "epochs", "steps", "layer_decay"):
            ends = getattr(self, name)
            is_range = ends is None or len(ends) == 1 or ends[0] < ends[1]
            check("TrainingSpace", name, is_range, "begin with its least value", ends and list(ends))
        _check_different("TrainingSpace", "batch_size", self.batch_size)
        return self


@validated_dataclass
class StudentSpace:
    """The values that `tune` tries for the student's depth.

    Attributes:
        num_layers: all values; None for the job's, two thirds and one third of it.
    """

    num_layers: Counts | None = None

    @pydantic.model_validator(mode="after")
    def _check_layers(self) -> Self:
        _check_different("StudentSpace", "num_layers", self.num_layers)
        return self


@validated_dataclass
class TuneSettings:
    """Settings of the command `tune`, which no step reads.

    Attributes:
        finalists: number of the best settings that are trained with several seeds, 1 to 20, besides the job's own.
        pooling: the values of `pooling` to try; None for both.
        fine_tuning: the values to try in `[fine_tuning]`.
        student: the values to try in `[student]`.
        distillation: the values to try in `[distillation]`.
    """

    finalists: Annotated[int, pydantic.Field(ge=1, le=20)] = 3
    pooling: Annotated[tuple[Pooling, ...], pydantic.Field(min_length=1)] | None = None
    fine_tuning: TrainingSpace = TrainingSpace()
    student: StudentSpace = StudentSpace()
    distillation: TrainingSpace = TrainingSpace()

    @pydantic.model_validator(mode="after")
    def _check_pooling(self) -> Self:
        _check_different("TuneSettings", "pooling", self.pooling)
        return self
