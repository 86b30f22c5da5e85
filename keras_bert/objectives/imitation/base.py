"""The base class of losses between a student's and its teacher's states, and the states that a loss reads."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from keras import ops

from keras_bert.core.tensors import Tensor

# The model's output, in the place of a layer's number.
OUTPUT = "output"

# A layer's states: 0 for the input of the first block, n for the output of block n; or `OUTPUT`.
State = int | str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Needs:
    """The tensors of one model that a loss reads.

    Attributes:
        states: the layers whose states are read.
        attended: `query`, `key`, `value` or `scores` -> the blocks, from 0, whose tensor is read.
    """

    states: tuple[State, ...] = ()
    attended: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)


class Read(NamedTuple):
    """The tensors that `Needs` names, in the same order.

    Attributes:
        states: arrays (batch, length, width); for `OUTPUT` (batch, width).
        attended: `scores` (batch, heads, length, length), all others (batch, length, width).
    """

    states: Sequence[Any]
    attended: Mapping[str, Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class ImitationLoss(abc.ABC):
    """A distance between states or attentions of a student and of its teacher.

    Attributes:
        name: name of the weight in `Imitation`; the metric is called NAME_loss.
        projected: whether a learned matrix maps the student's states to the teacher's width where the widths differ.
        student: the tensors of the student that are read.
        teacher: the tensors of the teacher that are read.
    """

    name: ClassVar[str]
    projected: ClassVar[bool] = False

    student: Needs
    teacher: Needs

    @abc.abstractmethod
    def distance(self, student: Read, teacher: Read, mask: Tensor) -> Tensor:
        """The distance summed over the batch, a float32 scalar; values at padding do not change it.

        Args:
            student: the student's tensors; projected states have the teacher's width.
            teacher: the teacher's tensors, which get no gradient.
            mask: 1 for a token, 0 for padding, float32 (batch, length).
        """

    def weight(self, mask: Tensor) -> Tensor:
        """The divisor of the sum, by default the number of tokens."""
        return ops.sum(mask)

    def projection(self, state: State) -> str:
        """The name of the matrix that projects a state."""
        return f"{self.name}_projection"


def per_token(values: Tensor, mask: Tensor) -> Tensor:
    """The sum over tokens: values and mask (batch, length) -> a scalar; padding may hold anything but NaN."""
    return ops.sum(values * mask)


def cosines(first: Tensor, second: Tensor) -> Tensor:
    """The cosines of pairs of vectors: twice (..., width) -> (...), float32; 0 where a vector is all zero."""
    first, second = (ops.normalize(ops.cast(side, "float32"), axis=-1) for side in (first, second))
    return ops.sum(first * second, axis=-1)
