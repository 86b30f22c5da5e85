"""Losses between hidden states, attentions or vectors of a student and of its teacher."""

import abc
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.attention import MASK_BIAS

# The model's output, instead of a layer's number.
OUTPUT = "output"

# A layer's states: 0 for the input of the first block, n for the output of block n; or `OUTPUT`.
State = int | str


@dataclasses.dataclass(frozen=True, kw_only=True)
class StateSelection:
    """The tensors that a loss reads from a model.

    Attributes:
        states: the layers whose hidden states are read.
        attention_layers: `query`, `key`, `value` or `scores` -> the blocks, from 0, whose tensors are read.
    """

    states: tuple[State, ...] = ()
    attention_layers: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)


class States(NamedTuple):
    """The tensors that `StateSelection` names, in the same order.

    Attributes:
        states: arrays (batch, length, width); for `OUTPUT` (batch, width).
        attention_tensors: `scores` (batch, heads, length, length), all others (batch, length, width).
    """

    states: Sequence[Any]
    attention_tensors: Mapping[str, Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class ImitationLoss(abc.ABC):
    """A distance between states or attentions of a student and of its teacher, and the tensors that it reads of both.

    Attributes:
        name: name of the weight in `Imitation`; the metric is called NAME_loss.
        projected: whether a learned matrix maps the student's states to the teacher's width where the widths differ.
    """

    name: ClassVar[str]
    projected: ClassVar[bool] = False

    student: StateSelection
    teacher: StateSelection

    @abc.abstractmethod
    def distance(self, student: States, teacher: States, mask: Tensor) -> Tensor:
        """The distance summed over the batch, a float32 scalar; values at padding do not change it.

        Projected states of the student have the teacher's width; the mask is 1 for a token, float32 (batch, length).
        """

    def weight(self, mask: Tensor) -> Tensor:
        """The divisor of the sum, by default the number of tokens."""
        return ops.sum(mask)

    def projection(self, state: State) -> str:
        """The name of the matrix that projects a state."""
        return f"{self.name}_projection"


def sum_over_tokens(values: Tensor, mask: Tensor) -> Tensor:
    """The sum over tokens: values and mask (batch, length) -> a scalar; values at padding may be anything but NaN."""
    return ops.sum(values * mask)


def cosines(first: Tensor, second: Tensor) -> Tensor:
    """The cosines of pairs of vectors: twice (..., width) -> (...), float32; 0 where a vector is all zero."""
    first, second = (ops.normalize(ops.cast(side, "float32"), axis=-1) for side in (first, second))
    return ops.sum(first * second, axis=-1)


class Attentions(ImitationLoss):
    """Mean over heads and pairs of tokens of (A_S - A_T)^2, summed over the pairs of layers.

    Equation 7 of Jiao et al. 2020. A are the scores before the softmax, which converge faster (same paper). The
    difference is 0 for a pair of tokens that either model masks, such as a pair outside of a window, as it is for
    padding in the paper's code.
    """

    name = "attentions"

    def distance(self, student: States, teacher: States, mask: Tensor) -> Tensor:
        pairs = zip(student.attention_tensors["scores"], teacher.attention_tensors["scores"], strict=True)
        return sum(ops.sum(score_difference(*pair) * token_pairs(mask)) for pair in pairs)

    def weight(self, mask: Tensor) -> Tensor:
        return ops.sum(token_pairs(mask))


def score_difference(student: Any, teacher: Any) -> Any:
    """The mean over heads of squared differences: twice (batch, heads, length, length) -> (batch, length, length)."""
    if student.shape[1] != teacher.shape[1]:
        raise ValueError(f"scores must have the teacher's {teacher.shape[1]} heads, got {student.shape[1]}")
    student, teacher = ops.cast(student, "float32"), ops.cast(teacher, "float32")
    seen = ops.cast(ops.greater(ops.minimum(student, teacher), MASK_BIAS / 2), "float32")
    return ops.mean(ops.square(student - teacher) * seen, axis=1)


def token_pairs(mask: Tensor) -> Tensor:
    """1 where both are tokens: (batch, length) -> (batch, length, length)."""
    return mask[:, :, None] * mask[:, None, :]


class Cosine(ImitationLoss):
    """Mean over tokens of 1 - cos(h_S W, h_T) of the final states; without W where widths are equal."""

    name = "cosine"
    projected = True

    def distance(self, student: States, teacher: States, mask: Tensor) -> Tensor:
        return sum_over_tokens(1.0 - cosines(student.states[0], teacher.states[0]), mask)


class HiddenStates(ImitationLoss):
    """Mean over tokens and width of (H_S W - H_T)^2, summed over the pairs of layers.

    Equations 8 and 9 of Jiao et al. 2020. Where widths are equal there is no W. As in the paper, the embeddings have
    one matrix, and all further layers share another one.
    """

    name = "hidden_states"
    projected = True

    def distance(self, student: States, teacher: States, mask: Tensor) -> Tensor:
        pairs = zip(student.states, teacher.states, strict=True)
        return sum(sum_over_tokens(squared_difference(*pair), mask) for pair in pairs)

    def projection(self, state: State) -> str:
        return f"embeddings_{super().projection(state)}" if state == 0 else super().projection(state)


def squared_difference(first: Tensor, second: Tensor) -> Tensor:
    """The mean over the width: twice (..., width) -> (...), float32."""
    return ops.mean(ops.square(ops.cast(first, "float32") - ops.cast(second, "float32")), axis=-1)


@dataclasses.dataclass(frozen=True)
class Relations(ImitationLoss):
    """Mean over heads and tokens of KL(R_T || R_S), summed over the kinds of tensors, in nats.

    R are the rows of softmax(X X^T / sqrt(width of a head)), where X are queries, keys or values, split into the same
    number of relation heads in both models, which may differ in width (Wang et al. 2021, equations 4 to 8). Where
    `scores` are read, R are the attention probabilities (Wang et al. 2020, equation 4).
    """

    name = "relations"

    heads: int

    def distance(self, student: States, teacher: States, mask: Tensor) -> Tensor:
        total: Any = 0.0
        for kind, (ours,) in student.attention_tensors.items():
            (theirs,) = teacher.attention_tensors[kind]
            if kind != "scores":
                ours, theirs = (relation_scores(states, self.heads) for states in (ours, theirs))
            total += sum_over_tokens(relation_divergence(ours, theirs, mask), mask)
        return total


def relation_scores(states: Tensor, heads: int) -> Tensor:
    """X X^T / sqrt(width of a head): (batch, length, width) -> float32 (batch, heads, length, length)."""
    states = ops.cast(states, "float32")
    batch, length, _ = ops.shape(states)
    size = states.shape[-1] // heads
    split = ops.transpose(ops.reshape(states, (batch, length, heads, size)), (0, 2, 1, 3))
    return ops.matmul(split, ops.transpose(split, (0, 1, 3, 2))) / math.sqrt(size)


def relation_divergence(student: Any, teacher: Any, mask: Tensor) -> Tensor:
    """The mean over heads of KL(softmax(teacher) || softmax(student)) over the tokens that are not padding.

    Scores (batch, heads, length, length) -> (batch, length); values at padding are arbitrary.
    """
    hidden = ((1.0 - mask) * MASK_BIAS)[:, None, None, :]
    ours, theirs = (ops.log_softmax(ops.cast(scores, "float32") + hidden, axis=-1) for scores in (student, teacher))
    return ops.mean(ops.sum(ops.exp(theirs) * (theirs - ours), axis=-1), axis=1)


class Similarities(ImitationLoss):
    """Mean over all pairs of a batch's texts of (cos(v_S, v_S') - cos(v_T, v_T'))^2.

    The similarity matrix of Tung and Mori 2019, section 3.1, with cosines, by which embeddings are compared. The widths
    of the models may differ. Texts of different micro-batches or devices are not compared.
    """

    name = "similarities"

    def distance(self, student: States, teacher: States, mask: Tensor) -> Tensor:
        return ops.sum(ops.square(similarity_matrix(student.states[0]) - similarity_matrix(teacher.states[0])))

    def weight(self, mask: Tensor) -> Tensor:
        return ops.square(ops.sum(ops.ones_like(mask[:, 0])))


def similarity_matrix(vectors: Tensor) -> Tensor:
    """Cosines of all pairs: (texts, width) -> float32 (texts, texts)."""
    units = ops.normalize(ops.cast(vectors, "float32"), axis=-1)
    return ops.matmul(units, ops.transpose(units))


class Vectors(ImitationLoss):
    """Mean over texts of 1 - cos(v_S W, v_T), both texts of each pair; without W where widths are equal.

    The student learns the teacher's vectors themselves, not only their distances (as Reimers and Gurevych 2020, section
    3, with squared differences).
    """

    name = "vectors"
    projected = True

    def distance(self, student: States, teacher: States, mask: Tensor) -> Tensor:
        return ops.sum(1.0 - cosines(student.states[0], teacher.states[0]))

    def weight(self, mask: Tensor) -> Tensor:
        return ops.sum(ops.ones_like(mask[:, 0]))
