"""The shape of a student."""

import dataclasses
from typing import Annotated, Any, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.core.validation import validated_dataclass


@validated_dataclass
class Student:
    """Sizes of an encoder that is smaller than its teacher; sizes that are not set are the teacher's.

    A student as wide as its teacher starts from some of the teacher's blocks, and where it has fewer heads or a
    narrower feed-forward layer, from their most important heads and units. A student of another width starts from
    random weights.

    Attributes:
        num_layers: number of encoder blocks; they start from blocks of the teacher that `spread_layers` chooses.
        layers: in place of `num_layers` and `hidden_size`, the numbers of the teacher's blocks to start from, from 0.
        hidden_size: width of the encoder; a multiple of `num_heads`.
        num_heads: number of attention heads in a block; without `hidden_size` they are as wide as the teacher's.
        intermediate_size: width of the feed-forward layer.
        embedding_rank: columns of the table of token embeddings, see `EncoderShape`.
    """

    num_layers: pydantic.PositiveInt | None = None
    layers: Annotated[tuple[pydantic.NonNegativeInt, ...], pydantic.Field(min_length=1)] | None = None
    hidden_size: pydantic.PositiveInt | None = None
    num_heads: pydantic.PositiveInt | None = None
    intermediate_size: pydantic.PositiveInt | None = None
    embedding_rank: pydantic.PositiveInt | None = None

    @pydantic.model_validator(mode="after")
    def _check_sizes(self) -> Self:
        sizes = self._sizes()
        check("Student", "num_layers", bool(sizes) or self.layers is not None, "be set, or layers", None)
        if self.hidden_size is not None and self.num_heads is not None:
            whole = self.hidden_size % self.num_heads == 0
            check("Student", "hidden_size", whole, f"be a multiple of num_heads={self.num_heads}", self.hidden_size)
        for name in ("num_layers", "hidden_size") if self.layers is not None else ():
            rule = f"be left out beside layers={list(self.layers or ())}"
            check("Student", name, name not in sizes, rule, sizes.get(name))
        return self

    def config(self, teacher: EncoderConfig, max_length: int) -> EncoderConfig:
        """The configuration of the student.

        Args:
            teacher: the configuration of the teacher.
            max_length: maximum number of tokens of the student's inputs.

        Raises:
            FieldError: the sizes together break a rule of `EncoderConfig`.
        """
        sizes = self._sizes()
        if self.hidden_size is not None:
            sizes["attention_size"] = None
        elif self.num_heads is not None and self.num_heads < teacher.num_heads and may_lose_parts(teacher):
            sizes["attention_size"] = self.num_heads * teacher.head_size
        if self.layers is not None:
            sizes["num_layers"] = len(self.layers)
        return dataclasses.replace(teacher, **sizes, max_length=max_length)

    def _sizes(self) -> dict[str, Any]:
        """The fields that are set, but for `layers`."""
        return {name: value for name, value in vars(self).items() if value is not None and name != "layers"}


def may_lose_parts(teacher: EncoderConfig) -> bool:
    """Whether a student may keep some of the heads and units of each block: BERT's graph without shared layers."""
    return teacher.variant is None and not teacher.shared_layers
