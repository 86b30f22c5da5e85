"""The position-wise feed-forward layer (Vaswani et al. 2017, section 3.3) and the activations."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.block import SavedLayer
from keras_bert.layers.dense import Dense
from keras_bert.layers.tap import Tap


def gelu_erf(x: Tensor) -> Tensor:
    """The exact GELU, x Phi(x) (Hendrycks and Gimpel 2016), written with erf.

    `ops.gelu` uses erfc, which ONNX Runtime does not support.
    """
    return 0.5 * x * (1.0 + ops.erf(x / math.sqrt(2.0)))


def gelu_tanh(x: Tensor) -> Tensor:
    """The tanh approximation of GELU (Hendrycks and Gimpel 2016, section 2)."""
    return ops.gelu(x, approximate=True)


def silu(x: Tensor) -> Tensor:
    """The sigmoid linear unit, x sigmoid(x) (Hendrycks and Gimpel 2016).

    `ops.silu` has a gradient of its own in TensorFlow, which exported files cannot hold.
    """
    return ops.multiply(x, ops.sigmoid(x))


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "gelu_tanh": gelu_tanh,
    "gelu_erf": gelu_erf,
    "relu": ops.relu,
    "silu": silu,
}


@keras.saving.register_keras_serializable("keras_bert")
class FeedForward(SavedLayer):
    """The position-wise feed-forward layer, activation(x W1 + b1) W2 + b2, with a key of `ACTIVATIONS`."""

    def __init__(
        self, intermediate_size: int, activation: str = "gelu_tanh", initializer_range: float = 0.02, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.intermediate_size = intermediate_size
        self.activation = activation
        self.initializer_range = initializer_range
        self.activation_tap = Tap("activation_tap")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes W1 (hidden, intermediate) and W2 (intermediate, hidden)."""
        hidden_size = input_shape[-1]
        assert hidden_size is not None
        self.intermediate = Dense(
            self.intermediate_size, self.initializer_range, name="intermediate", dtype=self.dtype_policy
        )
        self.intermediate.build(input_shape)
        self.output_projection = Dense(
            hidden_size, self.initializer_range, name="output_projection", dtype=self.dtype_policy
        )
        self.output_projection.build((*input_shape[:-1], self.intermediate_size))

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(batch, length, hidden) -> (batch, length, hidden)."""
        activated = ACTIVATIONS[self.activation](self.intermediate(inputs))
        return self.output_projection(self.activation_tap(activated, training))
