"""Taps: the places where compression observes or replaces an activation."""

from collections.abc import Callable
from typing import Any

import keras

from keras_bert.tensors import Tensor


class Tap:
    """An identity, or `transform` where one is set.

    A tap stands wherever an integer kernel on a device reads or writes a tensor, so that quantization-aware training
    needs no second copy of the architecture. `transform` is not saved.

    It is no layer: a block has sixteen taps, and as layers they took a third of the time to build or load a model.

    Args:
        name: the name of the tap in its layer; empty if the layer is nothing but the tap.

    Examples:
        >>> tap = Tap()
        >>> tap(3.4, training=False)
        3.4
        >>> tap.transform = lambda x, training: round(x)
        >>> tap(3.4, training=False)
        3
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.transform: Callable[[Any, bool], Any] | None = None

    def __call__(self, inputs: Tensor, training: bool) -> Tensor:
        """(...) -> (...), the same shape; `training` is passed to the transform."""
        return inputs if self.transform is None else self.transform(inputs, training)


@keras.saving.register_keras_serializable("keras_bert")
class TapLayer(keras.layers.Layer):
    """A tap as a layer of a model's graph.

    Examples:
        >>> layer = TapLayer()
        >>> layer.tap.transform = lambda x, training: keras.ops.round(x)
        >>> np.asarray(layer(keras.ops.convert_to_tensor([1.4, 2.6]))).tolist()
        [1.0, 3.0]
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tap = Tap()

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(...) -> (...), see `Tap`."""
        return self.tap(inputs, training)


def taps_of(layer: keras.layers.Layer) -> dict[str, Tap]:
    """The taps of a layer by their paths, without those of the layers inside it.

    Examples:
        >>> layer = TapLayer(name="embeddings_tap")
        >>> _ = layer(keras.ops.ones((2, 8)))  # a layer has its path from the first call on
        >>> list(taps_of(layer))
        ['embeddings_tap']
    """
    taps = (value for value in vars(layer).values() if isinstance(value, Tap))
    return {f"{layer.path}/{tap.name}" if tap.name else layer.path: tap for tap in taps}
