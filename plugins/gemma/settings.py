"""Settings of EmbeddingGemma (Vera et al. 2025)."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import Variant
from keras_bert.core.validation import validated_dataclass


@validated_dataclass
class Gemma(Variant):
    """The graph of Gemma 3 with attention in both directions: RMS norms, grouped queries, rotary positions.

    Attributes:
        key_value_heads: heads of keys and values, each for as many query heads; must divide their number.
        global_layers: the indices of the layers whose tokens attend to all tokens, from 0; the others are local.
        window: the number of neighbours that a token attends to in local attention, half of them on either side.
        global_theta: the base of the rotary angles in global attention.
        local_theta: the base of the rotary angles in local attention.
    """

    kind: Literal["gemma"] = "gemma"
    key_value_heads: pydantic.PositiveInt = 1
    global_layers: tuple[pydantic.NonNegativeInt, ...] = ()
    window: pydantic.PositiveInt = 512
    global_theta: pydantic.PositiveFloat = 1_000_000.0
    local_theta: pydantic.PositiveFloat = 10_000.0

    def of_layers(self, layers: Sequence[int]) -> Self:
        """The settings of a student with these layers of a teacher."""
        kept = tuple(index for index, layer in enumerate(layers) if layer in self.global_layers)
        return dataclasses.replace(self, global_layers=kept)

    def check_shape(self, shape: Any) -> None:
        self._check_fixed(shape, num_segments=0, position_offset=0, embedding_size=None, shared_layers=False)
        owner, heads = type(shape).__name__, shape.num_heads
        even = shape.hidden_size // heads % 2 == 0
        check(owner, "hidden_size", even, "give heads of an even size", shape.hidden_size)
        divides = heads % self.key_value_heads == 0
        check("Gemma", "key_value_heads", divides, f"divide num_heads={heads}", self.key_value_heads)
        rule, last = f"be below num_layers={shape.num_layers}", max(self.global_layers or (0,))
        check("Gemma", "global_layers", last < shape.num_layers, rule, self.global_layers)
