"""What the losses between a student and its teacher have in common: what they read, and what they are divided by."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from keras import ops

# In the place of a layer's number: the model's own output.
OUTPUT = "output"

# A layer's states: 0 is what the first block reads, n what block n gives; or `OUTPUT`.
State = int | str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Needs:
    """What a loss reads of one model.

    Attributes:
        states: of which layers.
        attended: `query`, `key`, `value` or `scores` -> of which blocks, from 0.
    """

    states: tuple[State, ...] = ()
    attended: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)


class Read(NamedTuple):
    """What was read, in the order of `Needs`.

    Attributes:
        states: each (batch, length, width); of `OUTPUT` (batch, width).
        attended: scores (batch, heads, length, length), all others (batch, length, width).
    """

    states: Sequence[Any]
    attended: Mapping[str, Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class ImitationLoss(abc.ABC):
    """How far a student's inner life is from its teacher's.

    Attributes:
        name: of the weight in `Imitation`; the metric is called NAME_loss.
        projected: whether the student's states go through a learned matrix where they are not as wide as the teacher's.
        student: what is read of the student.
        teacher: what of the teacher.
    """

    name: ClassVar[str]
    projected: ClassVar[bool] = False

    student: Needs
    teacher: Needs

    @abc.abstractmethod
    def distance(self, student: Read, teacher: Read, mask: Any) -> Any:
        """A sum over the batch, a float32 scalar; what stands in padding does not change it.

        Args:
            student: what was read of the student, its states as wide as the teacher's where they are projected.
            teacher: what was read of the teacher; no gradient is wanted.
            mask: 1 for a token, 0 for padding, float32 (batch, length).
        """

    def weight(self, mask: Any) -> Any:
        """What the sum is to be divided by: the tokens, where nothing else is said."""
        return ops.sum(mask)

    def projection(self, state: State) -> str:
        """The name of the matrix that a state goes through."""
        return f"{self.name}_projection"


def per_token(values: Any, mask: Any) -> Any:
    """The sum over tokens: values and mask (batch, length) -> a scalar; padding may hold anything but NaN."""
    return ops.sum(values * mask)


def cosines(first: Any, second: Any) -> Any:
    """Twice (..., width) -> (...), float32; 0 where a vector is all zero."""
    first, second = (ops.normalize(ops.cast(each, "float32"), axis=-1) for each in (first, second))
    return ops.sum(first * second, axis=-1)
