"""Settings of the graph of static models, and of students that are one."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig, EncoderShape, Variant
from keras_bert.core.validation import validated_dataclass
from keras_bert.options.compression import Student
from keras_bert.options.quantization import RECIPES


@validated_dataclass
class Static(Variant):
    """A vector and a weight for each token, without attention or positions.

    Attributes:
        ignored: the ids of special tokens, which have no part in the mean.
        packed: whether a number of the table is a byte with two numbers of a vector, see `pack_static`.
    """

    kind: Literal["static"] = "static"
    ignored: tuple[int, ...] = ()
    packed: bool = False

    def check_shape(self, shape: EncoderShape) -> None:
        self._check_fixed(shape, num_layers=1, num_segments=0, embedding_size=None, shared_layers=False)

    def of_tokens(self, numbers: Mapping[int, int]) -> Self:
        """See `Variant`."""
        return dataclasses.replace(self, ignored=tuple(numbers[token] for token in self.ignored if token in numbers))


@validated_dataclass
class StaticStudent(Student):
    """A student without an encoder: a vector and a weight for each token of the checkpoint's vocabulary.

    Attributes:
        kind: `static`.
        width: the width of the token vectors. Below the width of the teacher's vectors, the student has a dense layer
            to that width; None for the teacher's width.
        bits: 4 for token vectors of whole numbers from -7 to 7 with a step a token, two of which are a byte of the int8
            table that a quantization writes; None for 8.
    """

    kind: Literal["static"] = "static"
    width: pydantic.PositiveInt | None = None
    bits: Literal[4] | None = None

    variant: ClassVar[str] = "static"

    training: ClassVar[Mapping[str, Any]] = {
        "epochs": 1.0,
        "learning_rate": 3e-4,
        "weight_decay": 0.0,
        "precision": "float32",
    }

    @pydantic.model_validator(mode="after")
    def _check_sizes(self) -> Self:
        for name in (field.name for field in dataclasses.fields(Student)):
            value = getattr(self, name)
            check("StaticStudent", name, value is None, "be left out where kind is 'static'", value)
        if self.bits is not None and self.width is not None:
            check("StaticStudent", "width", self.width % 2 == 0, "be even where bits is 4", self.width)
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
        recipe = None if settings.quantization is None else RECIPES[settings.quantization.recipe]
        if self.bits is not None and (recipe is None or recipe.activations not in ("products", "rows")):
            raise InputError(
                "quantization must be a table with a recipe of integers that does not round all activations, such as "
                "recipe = 'dynamic_wi8', where student.bits is 4, as it would round bytes of two numbers"
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
        from keras_bert.models.encoder import config_of
        from plugins.static.models import start_static

        task = start_static(teacher, rows, self.width)
        width = config_of(task.model).hidden_size
        is_even = self.bits is None or width % 2 == 0
        check("StaticStudent", "width", is_even, "be given, as an even number, where bits is 4", width)
        return task

    def finish(self, student: Any) -> Any:
        """See `pack_static`."""
        from plugins.static.models import pack_static

        return student if self.bits is None else pack_static(student)
