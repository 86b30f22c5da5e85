"""MobileBERT's replacement of LayerNorm, which computes no mean and variance: these are slow on devices."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.families.mobilebert.settings import Normalization


@keras.saving.register_keras_serializable("keras_bert")
class NoNorm(keras.layers.Layer):
    """MobileBERT's replacement of LayerNorm: gamma x + beta, element by element (Sun et al. 2020, section 3.3)."""

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes gamma (hidden,) of ones, and beta (hidden,) of zeros."""
        for name, start in (("gamma", "ones"), ("beta", "zeros")):
            # In float32, as the bias of `Dense`: the gradients are sums over all rows.
            weight = self.add_weight(name=name, shape=(input_shape[-1],), initializer=start, autocast=False)
            setattr(self, name, weight)

    def call(self, inputs: Tensor) -> Tensor:
        """(..., hidden) -> (..., hidden)."""
        moved = ops.add(ops.multiply(ops.cast(inputs, "float32"), self.gamma), self.beta)
        return ops.cast(moved, self.compute_dtype)


def make_norm(kind: Normalization, epsilon: float, **kwargs: Any) -> keras.layers.Layer:
    """Makes a normalization layer; LayerNorm adds epsilon to the variance."""
    return NoNorm(**kwargs) if kind == "no_norm" else keras.layers.LayerNormalization(epsilon=epsilon, **kwargs)
