"""Self-attention with rotary positions, and the bias of local attention (Warner et al. 2024)."""

import math
from typing import Any, ClassVar

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.families.modernbert.rotary import rotary_table, rotate
from keras_bert.layers.attention import MASK_BIAS, SelfAttention
from keras_bert.layers.dense import Dense


@keras.saving.register_keras_serializable("keras_bert")
class WindowBias(keras.layers.Layer):
    """Makes the bias of local attention, which masks padding and tokens that are further than `reach` tokens away."""

    def __init__(self, reach: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reach = reach

    def call(self, inputs: Tensor) -> Tensor:
        """Bias of padding (batch, 1, 1, length) -> bias of padding and window (batch, 1, length, length)."""
        places = ops.arange(ops.shape(inputs)[3])
        is_outside = ops.greater(ops.abs(ops.subtract(places[:, None], places[None, :])), self.reach)
        # Minimum rather than sum: a larger range would coarsen the int8 grid of the scores.
        return ops.minimum(inputs, ops.multiply(ops.cast(is_outside, self.compute_dtype), MASK_BIAS))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """(batch, 1, length, length). JAX cannot infer it from `call`, which counts to an unknown length."""
        return (*input_shape[:2], input_shape[3], input_shape[3])

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "reach": self.reach}


@keras.saving.register_keras_serializable("keras_bert")
class RotaryAttention(SelfAttention):
    """Self-attention with rotary position embeddings, and one projection without bias to queries, keys and values.

    `theta` is the base of the rotary angles, `output_range` the standard deviation of the output projection's
    initializer; the dropout is on attention probabilities and output.
    """

    # No tap on the queries before the rotation: it is computed in float, so that no int8 kernel reads them.
    taps: ClassVar[tuple[str, ...]] = ("scores_tap", "probabilities_tap", "context_tap")

    def __init__(
        self,
        num_heads: int,
        theta: float,
        dropout: float = 0.0,
        initializer_range: float = 0.02,
        output_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_heads, dropout, initializer_range, **kwargs)
        self.theta = theta
        self.output_range = output_range
        self.output_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="output_dropout")

    def build(  # type: ignore[override]
        self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any
    ) -> None:
        """Makes the projections (hidden, 3 x hidden), in the order query, key, value, and output (hidden, hidden)."""
        hidden_size = inputs_shape[-1]
        assert hidden_size is not None
        self.head_size = hidden_size // self.num_heads
        for name, units, spread in (
            ("query_key_value", 3 * hidden_size, self.initializer_range),
            ("output_projection", hidden_size, self.output_range),
        ):
            dense = Dense(units, spread, use_bias=False, name=name, dtype=self.dtype_policy)
            dense.build(inputs_shape)
            setattr(self, name, dense)

    def call(  # type: ignore[override]
        self, inputs: Tensor, attention_bias: Tensor, first_only: bool = False, training: bool = False
    ) -> Tensor:
        """Attends to all tokens: (batch, length, hidden), with a bias (batch, 1, 1 or length, length).

        With `first_only` the first token alone attends: the bias is (batch, 1, 1, length), the result (batch, 1,
        hidden).
        """
        shape, scale = ops.shape(inputs), 1 / math.sqrt(self.head_size)
        table = rotary_table(shape[1], self.head_size, self.theta)
        projected_query, *projected = ops.split(self.query_key_value(inputs), 3, axis=-1)
        key, value = (self._split_heads(part, shape) for part in projected)
        if first_only:
            # The first position is not rotated.
            query_shape = (shape[0], 1)
            query = ops.multiply(self._split_heads(projected_query[:, :1], query_shape), scale)
        else:
            # The scale is part of the table, which is a constant where the length is static.
            query_shape = shape
            scaled_table = ops.multiply(table[0], scale), ops.multiply(table[1], scale)
            query = rotate(self._split_heads(projected_query, query_shape), scaled_table)
        context = self._attend(query, rotate(key, table), value, attention_bias, training)
        return self.output_dropout(self._join_heads(context, query_shape, training), training=training)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "theta": self.theta, "output_range": self.output_range}
