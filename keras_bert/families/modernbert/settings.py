"""Settings of ModernBERT (Warner et al. 2024)."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import Variant
from keras_bert.core.validation import ShareBelowOne, validated_dataclass


@validated_dataclass
class ModernBERT(Variant):
    """ModernBERT's settings: rotary positions, gated feed-forward layers, pre-norm blocks, local and global attention.

    The defaults are the paper's (Warner et al. 2024, section 2.1). As in transformers, `dropout` acts within the
    feed-forward layers, and `attention_dropout` also on the output of the attention.

    Attributes:
        global_every: the first of every `global_every` layers attends to all tokens (global attention), the others to a
            window (local attention).
        global_layers: the indices of the layers with global attention, from 0, in place of `global_every`.
        window: the number of neighbours that a token attends to in local attention, half of them on either side.
        global_theta: the base of the rotary angles (Su et al. 2024, section 3.2.2) in global attention.
        local_theta: the base of the rotary angles in local attention.
        embedding_dropout: the dropout rate on the embeddings.

    Examples:
        >>> [ModernBERT(global_every=3).is_global(layer) for layer in range(4)]
        [True, False, False, True]
    """

    prediction_head: ClassVar[bool] = True

    kind: Literal["modernbert"] = "modernbert"
    global_every: pydantic.PositiveInt = 3
    global_layers: tuple[pydantic.NonNegativeInt, ...] | None = None
    window: pydantic.PositiveInt = 128
    global_theta: pydantic.PositiveFloat = 160_000.0
    local_theta: pydantic.PositiveFloat = 10_000.0
    embedding_dropout: ShareBelowOne = 0.0

    @pydantic.model_validator(mode="after")
    def _check_global_layers(self) -> Self:
        layers = self.global_layers
        check("ModernBERT", "global_layers", layers is None or list(layers) == sorted(set(layers)), "rise", layers)
        return self

    @property
    def reach(self) -> int:
        """The largest distance in tokens within the window of local attention."""
        return self.window // 2

    def is_global(self, layer: int) -> bool:
        """True if a layer, counted from 0, has global attention."""
        return layer % self.global_every == 0 if self.global_layers is None else layer in self.global_layers

    def theta(self, layer: int) -> float:
        """The base of a layer's rotary angles."""
        return self.global_theta if self.is_global(layer) else self.local_theta

    def check_shape(self, shape: Any) -> None:
        self._check_fixed(shape, num_segments=0, position_offset=0, embedding_size=None, shared_layers=False)
        even = shape.hidden_size // shape.num_heads % 2 == 0
        check(type(shape).__name__, "hidden_size", even, "give heads of an even size", shape.hidden_size)
        last = max(self.global_layers or (0,))
        rule = f"be below num_layers={shape.num_layers}"
        check("ModernBERT", "global_layers", last < shape.num_layers, rule, self.global_layers)

    def of_layers(self, layers: Sequence[int]) -> Self:
        """See `Variant`; each layer keeps its kind of attention."""
        global_layers = tuple(place for place, layer in enumerate(layers) if self.is_global(layer))
        regular = global_layers == tuple(range(0, len(layers), self.global_every))
        return dataclasses.replace(self, global_layers=None if regular else global_layers)
