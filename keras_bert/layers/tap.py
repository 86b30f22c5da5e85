"""The places where an activation can be watched or replaced."""

from collections.abc import Callable
from typing import Any

import keras


class Tap:
    """An identity that compression can open: it passes its input on, through `transform` if one is set.

    A tap stands wherever an integer kernel on a device reads or writes a tensor, so that
    quantization-aware training finds these places without a second copy of the architecture.
    `transform` belongs to whoever set it and is not saved.

    It is no layer: a block has sixteen, and as layers they took a third of the time to make or load a model.

    Args:
        name: what the path of the layer that owns it goes on with; empty if the tap is all that the layer is.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.transform: Callable[[Any, bool], Any] | None = None

    def __call__(self, inputs: Any, training: bool) -> Any:
        """(...) -> (...), the same shape; the transform is told whether the model is training."""
        return inputs if self.transform is None else self.transform(inputs, training)


class TapLayer(keras.layers.Layer):
    """A tap that stands in a model's graph by itself."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tap = Tap()

    def call(self, inputs: Any, training: bool = False) -> Any:
        """(...) -> (...), see `Tap`."""
        return self.tap(inputs, training)


def taps_of(layer: keras.layers.Layer) -> dict[str, Tap]:
    """The taps of a layer by their paths, without those of the layers inside it."""
    taps = (value for value in vars(layer).values() if isinstance(value, Tap))
    return {f"{layer.path}/{tap.name}" if tap.name else layer.path: tap for tap in taps}
