"""The gated feed-forward layer, attention with rotary or linear positions, their encoder block, and its graph."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import keras
import numpy as np
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.bert.graph import embed, encode
from keras_bert.families.gated.settings import Gated
from keras_bert.layers.attention import MASK_BIAS, AttentionBias, ConfiguredAttention
from keras_bert.layers.block import ConfiguredLayer
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.feed_forward import ACTIVATIONS
from keras_bert.layers.rotary import rotary_table, rotate
from keras_bert.layers.tap import Tap


@keras.saving.register_keras_serializable("keras_bert")
class LinearBias(ConfiguredLayer):
    """Adds the bias of distances to the bias of padding: each head subtracts its slope for every token in between."""

    def __init__(self, config: Any, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.slopes = find_slopes(self.config.num_heads)

    def call(self, inputs: Tensor) -> Tensor:
        """Bias of padding (batch, 1, 1, length) -> bias (batch, heads, length, length)."""
        places = ops.cast(ops.arange(ops.shape(inputs)[3]), "float32")
        distances = ops.abs(ops.subtract(places[:, None], places[None, :]))
        linear = ops.multiply(-self.slopes[:, None, None], distances)
        # Minimum rather than sum, and no less than at padding: a larger range would coarsen the scores' int8 grid.
        return ops.minimum(inputs, ops.cast(ops.maximum(linear, MASK_BIAS), self.compute_dtype))

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """(batch, heads, length, length). JAX cannot infer it from `call`, which counts to an unknown length."""
        return inputs_shape[0], self.config.num_heads, inputs_shape[3], inputs_shape[3]


def find_slopes(heads: int) -> np.ndarray[Any, Any]:
    """The slope of each head, float32 (heads,): 2^(-8 i / n) for i = 1 ... n, where n is a power of 2.

    For other numbers of heads, the slopes of the next smaller power of 2 are followed by every second of those of its
    double (Press et al. 2022, section 3 and footnote 9).
    """
    power = 2 ** int(math.log2(heads))
    first = [2.0 ** (-8 * index / power) for index in range(1, power + 1)]
    further = [2.0 ** (-4 * index / power) for index in range(1, 2 * power + 1, 2)]
    return np.array([*first, *further][:heads], "float32")


@keras.saving.register_keras_serializable("keras_bert")
class GatedAttention(ConfiguredAttention):
    """BERT's attention, whose queries and keys are rotated by their positions where the settings ask for it."""

    # No tap on the queries before the rotation: it is computed in float, so that no int8 kernel reads them.
    taps: ClassVar[tuple[str, ...]] = ("scores_tap", "probabilities_tap", "context_tap")

    def build(  # type: ignore[override]
        self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any
    ) -> None:
        """Makes query, key, value and output, each (hidden, hidden)."""
        assert isinstance(self.config.variant, Gated)
        self.variant, self.head_size = self.config.variant, self.config.head_size
        for name in ("query", "key", "value", "output_projection"):
            self._add_projection(name, self.variant.attention_bias)

    def call(  # type: ignore[override]
        self, inputs: Tensor, attention_bias: Tensor, query_states: Tensor = None, training: bool = False
    ) -> Tensor:
        """Attends to all tokens: (batch, length, hidden), bias (batch, 1 or heads, 1 or length, length).

        Q is computed from `query_states`, the first states, if these are given: the result is as long.
        """
        shape, first = ops.shape(inputs), inputs if query_states is None else query_states
        query_shape, scale = ops.shape(first), 1 / math.sqrt(self.head_size)
        query, key = self._split_heads(self.query(first), query_shape), self._split_heads(self.key(inputs), shape)
        if self.variant.positions == "rotary":
            table = rotary_table(shape[1], self.head_size, self.variant.theta, self.variant.position_scale)
            if query_states is None:
                query = rotate(query, table)
            key = rotate(key, table)
        value = self._split_heads(self.value(inputs), shape)
        context = self._attend(ops.multiply(query, scale), key, value, attention_bias, training)
        return self._join_heads(context, query_shape, training)


@keras.saving.register_keras_serializable("keras_bert")
class GatedLinearUnit(ConfiguredLayer):
    """The gated feed-forward layer, (activation(x G) * x W) W2 + b2 (Shazeer 2020, section 2)."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.activation_tap = Tap("activation_tap")
        self.dropout = Dropout(self.config.dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes G and W (hidden, intermediate), and W2 (intermediate, hidden)."""
        config = self.config
        assert isinstance(config.variant, Gated)
        for name, rows, units, use_bias in (
            ("gate", config.hidden_size, config.intermediate_size, False),
            ("intermediate", config.hidden_size, config.intermediate_size, False),
            ("output_projection", config.intermediate_size, config.hidden_size, config.variant.output_bias),
        ):
            dense = Dense(units, config.initializer_range, use_bias, name=name, dtype=self.dtype_policy)
            dense.build((*input_shape[:-1], rows))
            setattr(self, name, dense)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(..., hidden) -> (..., hidden)."""
        opened = ACTIVATIONS[self.config.activation](self.gate(inputs))
        gated = self.activation_tap(ops.multiply(opened, self.intermediate(inputs)), training)
        return self.output_projection(self.dropout(gated, training=training))


@keras.saving.register_keras_serializable("keras_bert")
class GatedBlock(EncoderBlock):
    """BERT's encoder block with `GatedAttention` and `GatedLinearUnit`."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        policy = kwargs.get("dtype")
        attention = GatedAttention(config, name="attention", dtype=policy)
        super().__init__(config, attention, GatedLinearUnit(config, name="feed_forward", dtype=policy), **kwargs)


def gated_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    assert isinstance(config.variant, Gated)
    bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    if config.variant.positions == "linear":
        bias = LinearBias(config, name="linear_bias")(bias)
    return encode(config, embed(config, inputs, positions=False), bias, GatedBlock)
