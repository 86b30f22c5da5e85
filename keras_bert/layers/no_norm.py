"""LayerNorm's place without its statistics, which take a device long."""

from typing import Any

import keras
from keras import ops

from keras_bert.variants.bottleneck import Normalization


class NoNorm(keras.layers.Layer):
    """gamma x + beta, element by element (Sun et al. 2020, section 3.3)."""

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes gamma (hidden,) of ones, and beta (hidden,) of zeros."""
        for name, start in (("gamma", "ones"), ("beta", "zeros")):
            # In float32, as is a bias of `Dense`: their gradients are sums over all rows.
            weight = self.add_weight(name=name, shape=(input_shape[-1],), initializer=start, autocast=False)
            setattr(self, name, weight)

    def call(self, inputs: Any) -> Any:
        """(..., hidden) -> (..., hidden)."""
        moved = ops.add(ops.multiply(ops.cast(inputs, "float32"), self.gamma), self.beta)
        return ops.cast(moved, self.compute_dtype)


def make_norm(kind: Normalization, epsilon: float, **kwargs: Any) -> keras.layers.Layer:
    """A layer of a kind of normalization; the epsilon is that of LayerNorm."""
    return NoNorm(**kwargs) if kind == "no_norm" else keras.layers.LayerNormalization(epsilon=epsilon, **kwargs)
