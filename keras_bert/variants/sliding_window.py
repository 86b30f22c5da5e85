"""Longformer: attention to a window around each token, and to a few tokens that see all (Beltagy et al. 2020)."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from keras_bert.checks import check
from keras_bert.variants.base import Variant


@dataclasses.dataclass(frozen=True, kw_only=True)
class SlidingWindow(Variant):
    """Tokens attend to their neighbours; those that a task asks for attend to all, and all to them (section 3.1).

    The latter have projections of their own. Which they are, heads say: see `keras_bert.models.global_tokens`.

    Attributes:
        window: how many tokens around it a token attends to, half of them on either side (section 4.1: 512).
        windows: in place of that, one for each layer, first to last; those behind the last layer are not read.
    """

    kind: ClassVar[str] = "sliding_window"

    window: int = 512
    windows: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for field, found in (("window", (self.window,)), ("windows", self.windows or ())):
            even = all(each >= 2 and each % 2 == 0 for each in found)
            check("SlidingWindow", field, even, "be even and at least 2", getattr(self, field))

    def reach(self, layer: int) -> int:
        """How far from a token the farthest stands that it attends to in a layer, counted from 0."""
        return (self.window if self.windows is None else self.windows[layer]) // 2

    def check_shape(self, shape: Any) -> None:
        """See `Variant`."""
        self._check_fixed(shape, shared_layers=False)
        enough = self.windows is None or len(self.windows) >= shape.num_layers
        rule = f"hold one window for each of num_layers={shape.num_layers}"
        check("SlidingWindow", "windows", enough, rule, self.windows)

    def of_layers(self, layers: Sequence[int]) -> Self:
        """See `Variant`: each layer goes on to see what it saw."""
        if self.windows is None:
            return self
        found = tuple(self.windows[layer] for layer in layers)
        if len(set(found)) == 1:
            return dataclasses.replace(self, window=found[0], windows=None)
        return dataclasses.replace(self, windows=found)
