"""Settings of the graph of static models, and of students that are one."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig, EncoderShape, Variant
from keras_bert.core.validation import validated_dataclass
from keras_bert.options.compression import Student


@validated_dataclass
class Static(Variant):
    """A vector and a weight for each token, without attention or positions.

    Attributes:
        ignored: the ids of special tokens, which have no part in the mean.
    """

    kind: Literal["static"] = "static"
    ignored: tuple[int, ...] = ()

    def check_shape(self, shape: EncoderShape) -> None:
        self._check_fixed(shape, num_layers=1, num_segments=0, embedding_size=None, shared_layers=False)


@validated_dataclass
class StaticStudent(Student):
    """A student without an encoder: a vector and a weight for each token of the checkpoint's vocabulary.

    Attributes:
        kind: `static`.
        width: the width of the token vectors. Below the width of the teacher's vectors, the student has a dense layer
            to that width; None for the teacher's width.
    """

    kind: Literal["static"] = "static"
    width: pydantic.PositiveInt | None = None

    variant: ClassVar[str] = "static"

    training: ClassVar[Mapping[str, Any]] = {
        "epochs": 3.0,
        "learning_rate": 1e-3,
        "weight_decay": 0.0,
        "precision": "float32",
    }

    @pydantic.model_validator(mode="after")
    def _check_sizes(self) -> Self:
        for name in (field.name for field in dataclasses.fields(Student)):
            value = getattr(self, name)
            check("StaticStudent", name, value is None, "be left out where kind is 'static'", value)
        return self

    def config(self, teacher: EncoderConfig, max_length: int) -> EncoderConfig:
        """The teacher's, whose sizes a static model does not have."""
        return teacher

    def check_job(self, settings: Any) -> None:
        """Raises InputError without `[teacher]`, and with tables that suit no static model."""
        from components.dsl.errors import InputError

        if getattr(settings, "teacher", None) is None:
            raise InputError("student.kind must be left out without [teacher], as a static model learns vectors alone")
        if settings.pruning is not None:
            raise InputError(
                "pruning must be left out where student.kind is 'static', as a text has few of its vectors; lower "
                "student.width instead"
            )
        if settings.quantization is not None and settings.quantization.float_layers:
            raise InputError("quantization.float_layers must be left out where student.kind is 'static'")

    def check_files(self, settings: Any) -> None:
        """Raises InputError where the width is above that of the checkpoint, if that is the teacher."""
        from components.dsl.errors import InputError

        teacher, checkpoint = settings.teacher, settings.checkpoint
        is_own = checkpoint is not None and not (teacher.path or teacher.has_vectors or teacher.space)
        full = checkpoint.size("hidden_size") if is_own else None
        if full is not None and self.width is not None and self.width > full:
            raise InputError(f"student.width must be at most {full}, the width of the checkpoint, got {self.width}")

    def build(self, teacher: Any, rows: Any) -> Any:
        """See `start_static`."""
        from plugins.static.models import start_static

        return start_static(teacher, rows, self.width)
