"""Settings of encoders with gated feed-forward layers and relative positions."""

from typing import Any, Literal

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import Variant
from keras_bert.core.validation import validated_dataclass


@validated_dataclass
class Gated(Variant):
    """Settings of BERT with gated feed-forward layers (Shazeer 2020), and relative instead of absolute positions.

    The defaults are NomicBERT's (Nussbaum et al. 2024, section 3).

    Attributes:
        positions: `rotary` rotates queries and keys by angles that grow with their positions (Su et al. 2021, section
            3.2.2); `linear` subtracts a number from each score that grows with the distance (ALiBi, Press et al. 2022),
            in both directions, as in JinaBERT v2 (Guenther et al. 2023, section 3.1).
        theta: the base of the rotary angles.
        position_scale: the number by which rotary positions are divided, for inputs that are longer than those of
            pre-training; 1 for no scaling.
        attention_bias: whether the projections of the attention have a bias.
        output_bias: whether the last projection of a feed-forward layer has a bias.
    """

    kind: Literal["gated"] = "gated"
    positions: Literal["rotary", "linear"] = "rotary"
    theta: pydantic.PositiveFloat = 1000.0
    position_scale: pydantic.PositiveFloat = 1.0
    attention_bias: bool = False
    output_bias: bool = False

    def check_shape(self, shape: Any) -> None:
        self._check_fixed(shape, position_offset=0, embedding_size=None)
        even = self.positions != "rotary" or shape.hidden_size // shape.num_heads % 2 == 0
        check(type(shape).__name__, "hidden_size", even, "give heads of an even size", shape.hidden_size)
