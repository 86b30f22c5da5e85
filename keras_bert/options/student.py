"""How a student differs from its teacher."""

import dataclasses
from typing import Any

from keras_bert.checks import check
from keras_bert.config import EncoderConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Student:
    """A smaller encoder. What is left out is as in the teacher.

    A student as wide as its teacher starts from some of the teacher's layers, and where it has fewer heads or a
    narrower feed-forward layer from those parts of them that count most. One of another width begins with random
    weights.

    Attributes:
        num_layers: encoder blocks; which of the teacher's they start from, `spread_layers` chooses.
        layers: in place of that, the teacher's blocks to start from, counted from 0.
        hidden_size: width; a multiple of the number of heads.
        num_heads: attention heads a block; without `hidden_size` they are as wide as the teacher's.
        intermediate_size: width of the feed-forward layer.
        embedding_rank: columns of the table of pieces, see `EncoderShape`.
    """

    num_layers: int | None = None
    layers: tuple[int, ...] | None = None
    hidden_size: int | None = None
    num_heads: int | None = None
    intermediate_size: int | None = None
    embedding_rank: int | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None and name != "layers"}
        check("Student", "num_layers", bool(given) or self.layers is not None, "be set, or layers", None)
        for name, value in given.items():
            check("Student", name, value >= 1, "be at least 1", value)
        if self.hidden_size is not None and self.num_heads is not None:
            whole = self.hidden_size % self.num_heads == 0
            check("Student", "hidden_size", whole, f"be a multiple of num_heads={self.num_heads}", self.hidden_size)
        if self.layers is None:
            return
        rising = bool(self.layers) and all(layer >= 0 for layer in self.layers)
        check("Student", "layers", rising, "name at least one of the teacher's layers, from 0 on", list(self.layers))
        for name in ("num_layers", "hidden_size"):
            rule = f"be left out beside layers={list(self.layers)}"
            check("Student", name, name not in given, rule, given.get(name))

    def config(self, teacher: EncoderConfig, max_length: int) -> EncoderConfig:
        """The configuration of the student.

        Args:
            teacher: that of its teacher.
            max_length: the most tokens that the student can take.

        Raises:
            ValueError: the two together break a rule of `EncoderConfig`.
        """
        given: dict[str, Any] = {
            name: value for name, value in vars(self).items() if value is not None and name != "layers"
        }
        if self.hidden_size is not None:
            given["attention_size"] = None
        elif self.num_heads is not None and self.num_heads < teacher.num_heads and may_lose_parts(teacher):
            given["attention_size"] = self.num_heads * teacher.head_size
        if self.layers is not None:
            given["num_layers"] = len(self.layers)
        return dataclasses.replace(teacher, **given, max_length=max_length)


def may_lose_parts(teacher: EncoderConfig) -> bool:
    """Whether a student may have some of the heads and units of each layer: of BERT's graph, no layers shared."""
    return teacher.variant is None and not teacher.shared_layers
