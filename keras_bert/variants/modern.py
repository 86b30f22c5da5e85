"""ModernBERT's settings (Warner et al. 2024)."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from keras_bert.checks import check
from keras_bert.variants.base import Variant


@dataclasses.dataclass(frozen=True, kw_only=True)
class Modern(Variant):
    """Rotary positions, gated feed-forward layers, norms in front of the sub-layers, and layers that see but a window.

    The defaults are the paper's (Warner et al. 2024, section 2.1). In this graph `dropout` acts within the feed-forward
    layers, and `attention_dropout` on the output of the attention, too, as in transformers.

    Attributes:
        global_every: the first of so many layers attends to the whole text, the others to a window.
        global_layers: in place of that, the layers that attend to the whole text, counted from 0.
        window: how many tokens around it a token of the other layers attends to, half of them on either side.
        global_theta: base of the rotary angles (Su et al. 2024, section 3.2.2) of layers that see the whole text.
        local_theta: the same of the other layers.
        embedding_dropout: rate on the embeddings.
    """

    kind: ClassVar[str] = "modern"
    prediction_head: ClassVar[bool] = True

    global_every: int = 3
    global_layers: tuple[int, ...] | None = None
    window: int = 128
    global_theta: float = 160_000.0
    local_theta: float = 10_000.0
    embedding_dropout: float = 0.0

    def __post_init__(self) -> None:
        for field in ("global_every", "window"):
            check("Modern", field, getattr(self, field) >= 1, "be at least 1", getattr(self, field))
        for field in ("global_theta", "local_theta"):
            check("Modern", field, getattr(self, field) > 0, "be positive", getattr(self, field))
        rate, layers = self.embedding_dropout, self.global_layers
        check("Modern", "embedding_dropout", 0 <= rate < 1, "be in [0, 1)", rate)
        rising = layers is None or list(layers) == sorted({layer for layer in layers if layer >= 0})
        check("Modern", "global_layers", rising, "rise from 0 or more", layers)

    @property
    def reach(self) -> int:
        """How far from a token the farthest stands that it attends to in a layer with a window."""
        return self.window // 2

    def is_global(self, layer: int) -> bool:
        """Whether a layer, counted from 0, attends to the whole text."""
        return layer % self.global_every == 0 if self.global_layers is None else layer in self.global_layers

    def theta(self, layer: int) -> float:
        """The base of a layer's rotary angles."""
        return self.global_theta if self.is_global(layer) else self.local_theta

    def check_shape(self, shape: Any) -> None:
        """See `Variant`."""
        self._check_fixed(shape, num_segments=0, position_offset=0, embedding_size=None, shared_layers=False)
        even = shape.hidden_size // shape.num_heads % 2 == 0
        check(type(shape).__name__, "hidden_size", even, "give heads of an even size", shape.hidden_size)
        last = max(self.global_layers or (0,))
        rule = f"be below num_layers={shape.num_layers}"
        check("Modern", "global_layers", last < shape.num_layers, rule, self.global_layers)

    def of_layers(self, layers: Sequence[int]) -> Self:
        """See `Variant`: each layer goes on to see what it saw."""
        found = tuple(place for place, layer in enumerate(layers) if self.is_global(layer))
        regular = found == tuple(range(0, len(layers), self.global_every))
        return dataclasses.replace(self, global_layers=None if regular else found)
