"""The places where an activation can be watched or replaced."""

from collections.abc import Callable
from typing import Any

import keras


class Tap(keras.layers.Layer):
    """An identity that compression can open: it passes its input on, through `transform` if one is set.

    A tap stands wherever an integer kernel on a device reads or writes a tensor, so that
    quantization-aware training finds these places without a second copy of the architecture.
    A tap holds no weights; `transform` belongs to whoever set it and is not saved.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.transform: Callable[[Any, bool], Any] | None = None

    def call(self, inputs: Any, training: bool = False) -> Any:
        """(...) -> (...), the same shape; the transform is told whether the model is training."""
        return inputs if self.transform is None else self.transform(inputs, training)
