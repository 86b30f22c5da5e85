"""Attention with rotary positions, and the bias that hides what lies outside of a window (Warner et al. 2024)."""

import math
from typing import Any, ClassVar

import keras
from keras import ops

from keras_bert.layers.attention import MASK_BIAS, SelfAttention
from keras_bert.layers.dense import Dense
from keras_bert.layers.rotary import rotary_table, rotate


class WindowBias(keras.layers.Layer):
    """What hides padding -> what hides padding and all that is too far from a token.

    Args:
        reach: how far from a token the farthest stands that it attends to.
    """

    def __init__(self, reach: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reach = reach

    def call(self, inputs: Any) -> Any:
        """(batch, 1, 1, length) -> (batch, 1, length, length)."""
        places = ops.arange(ops.shape(inputs)[3])
        far = ops.greater(ops.abs(ops.subtract(places[:, None], places[None, :])), self.reach)
        # The smaller one, not their sum: an int8 range is shared with the scores.
        return ops.minimum(inputs, ops.multiply(ops.cast(far, self.compute_dtype), MASK_BIAS))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """As `call`: JAX cannot find it out by calling, with no length to count to."""
        return (*input_shape[:2], input_shape[3], input_shape[3])

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "reach": self.reach}


class RotaryAttention(SelfAttention):
    """Self-attention of rotated queries and keys, which one product without bias makes together with the values.

    Args:
        num_heads: attention heads.
        theta: base of the rotary angles.
        dropout: rate on the attention probabilities and on the output.
        initializer_range: standard deviation of the truncated normal initializer.
        output_range: the same of the output projection.
    """

    # The query is rotated in float: nothing reads it as int8.
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
        """Makes the projections (hidden, 3 x hidden), in the order query, key, value, and (hidden, hidden)."""
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
        self, inputs: Any, attention_bias: Any, training: bool = False
    ) -> Any:
        """(batch, length, hidden), bias (batch, 1, 1 or length, length) -> (batch, length, hidden)."""
        shape = ops.shape(inputs)
        parts = ops.split(self.query_key_value(inputs), 3, axis=-1)
        query, key, value = (self._split_heads(part, shape) for part in parts)
        table = rotary_table(shape[1], self.head_size, self.theta)
        # The scale is part of the table, which is a constant where the length is one.
        cosines, sines = (ops.multiply(part, 1 / math.sqrt(self.head_size)) for part in table)
        query, key = rotate(query, (cosines, sines)), rotate(key, table)
        attended = self._attend(query, key, value, attention_bias, shape, training)
        return self.output_dropout(attended, training=training)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "theta": self.theta, "output_range": self.output_range}
