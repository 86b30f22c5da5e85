"""Settings of Longformer (Beltagy et al. 2020)."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import Variant
from keras_bert.core.validation import validated_dataclass

# Even, because half of a window is on either side of a token.
_Window = Annotated[int, pydantic.Field(ge=2, multiple_of=2)]


@validated_dataclass
class Longformer(Variant):
    """Longformer's settings: sliding-window attention and global tokens (Beltagy et al. 2020, section 3.1).

    Global tokens attend to all tokens, all tokens attend to them, and they have separate projections. The task decides
    which tokens are global, see `keras_bert.models.global_tokens`.

    Attributes:
        window: the number of neighbours that a token attends to, half of them on either side (section 4.1: 512).
        windows: a window for each layer, in place of `window`; windows beyond the last layer are ignored.

    Examples:
        >>> Longformer(window=512).reach(layer=0)
        256
        >>> Longformer(windows=(32, 64, 128)).of_layers([0, 2]).windows
        (32, 128)
    """

    kind: Literal["longformer"] = "longformer"
    window: _Window = 512
    windows: tuple[_Window, ...] | None = None

    def reach(self, layer: int) -> int:
        """The largest distance in tokens within the window of a layer, counted from 0."""
        return (self.window if self.windows is None else self.windows[layer]) // 2

    def check_shape(self, shape: Any) -> None:
        self._check_fixed(shape, shared_layers=False)
        enough = self.windows is None or len(self.windows) >= shape.num_layers
        rule = f"hold one window for each of num_layers={shape.num_layers}"
        check("Longformer", "windows", enough, rule, self.windows)

    def of_layers(self, layers: Sequence[int]) -> Self:
        """See `Variant`; each layer keeps its window."""
        if self.windows is None:
            return self
        windows = tuple(self.windows[layer] for layer in layers)
        if len(set(windows)) == 1:
            return dataclasses.replace(self, window=windows[0], windows=None)
        return dataclasses.replace(self, windows=windows)
