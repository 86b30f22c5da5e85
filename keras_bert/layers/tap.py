"""Taps: hooks by which quantization and distillation observe or replace an activation."""

from collections.abc import Callable
from typing import Any

import keras

from keras_bert.core.tensors import Tensor


class Tap:
    """A hook on an activation: the identity, or a function `transform` if one is set.

    There is a tap on every tensor that an integer kernel on a device reads or writes, so that quantization-aware
    training needs no second implementation of a model. `transform` is not saved.

    A tap is not a layer: a block has sixteen taps, and building or loading a model with sixteen more layers per block
    took half as long again. The tap of a `TapLayer` has no name.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.transform: Callable[[Any, bool], Any] | None = None

    def __call__(self, inputs: Tensor, training: bool) -> Tensor:
        """(...) -> (...), the same shape; `training` is passed to the transform."""
        return inputs if self.transform is None else self.transform(inputs, training)


@keras.saving.register_keras_serializable("keras_bert")
class TapLayer(keras.layers.Layer):
    """A tap as a layer of a model's graph."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tap = Tap()

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(...) -> (...), see `Tap`."""
        return self.tap(inputs, training)


def taps_of(layer: keras.layers.Layer) -> dict[str, Tap]:
    """The taps of a layer by their paths, without those of its sublayers."""
    taps = (value for value in vars(layer).values() if isinstance(value, Tap))
    return {f"{layer.path}/{tap.name}" if tap.name else layer.path: tap for tap in taps}
