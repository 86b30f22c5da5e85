"""The gated feed-forward layer (Shazeer 2020, "GLU Variants Improve Transformer", section 2)."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.dense import Dense
from keras_bert.layers.feed_forward import ACTIVATIONS, FeedForward


@keras.saving.register_keras_serializable("keras_bert")
class GatedFeedForward(FeedForward):
    """The gated feed-forward layer, (activation(x W) * x V) W2; with GELU it is GeGLU.

    The dropout is before W2, whose initializer has the standard deviation `output_range`.
    """

    def __init__(
        self,
        intermediate_size: int,
        activation: str = "gelu_erf",
        dropout: float = 0.0,
        initializer_range: float = 0.02,
        output_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(intermediate_size, activation, initializer_range, **kwargs)
        self.output_range = output_range
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes W and V as one kernel (hidden, 2 x intermediate), and W2 (intermediate, hidden)."""
        hidden_size = input_shape[-1]
        assert hidden_size is not None
        for name, units, spread, width in (
            ("intermediate", 2 * self.intermediate_size, self.initializer_range, hidden_size),
            ("output_projection", hidden_size, self.output_range, self.intermediate_size),
        ):
            dense = Dense(units, spread, use_bias=False, name=name, dtype=self.dtype_policy)
            dense.build((*input_shape[:-1], width))
            setattr(self, name, dense)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(batch, length, hidden) -> (batch, length, hidden)."""
        first, gate = ops.split(self.intermediate(inputs), 2, axis=-1)
        gated = self.activation_tap(ops.multiply(ACTIVATIONS[self.activation](first), gate), training)
        return self.output_projection(self.dropout(gated, training=training))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "dropout": self.dropout.rate, "output_range": self.output_range}
