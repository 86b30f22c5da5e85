"""ModernBERT's pre-norm encoder block, attention with rotary positions, and graph (Warner et al. 2024)."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import keras
import numpy as np
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.layers.attention import MASK_BIAS, AttentionBias, SelfAttention
from keras_bert.layers.block import SavedLayer, TransformerBlock, weights_by_path
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.layers.feed_forward import ACTIVATIONS, FeedForward
from keras_bert.layers.rotary import rotary_table, rotate
from keras_bert.layers.tap import Tap, TapLayer


@keras.saving.register_keras_serializable("keras_bert")
class WindowBias(SavedLayer):
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
        self.output_dropout = Dropout(dropout, dtype=self.dtype_policy, name="output_dropout")

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

        With `first_only` only the first token attends: the bias is (batch, 1, 1, length), the result (batch, 1,
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
        self.dropout = Dropout(dropout, dtype=self.dtype_policy, name="dropout")

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
        first, gate = ops.split(self.intermediate(inputs), 2, axis=-1)
        gated = self.activation_tap(ops.multiply(ACTIVATIONS[self.activation](first), gate), training)
        return self.output_projection(self.dropout(gated, training=training))


@keras.saving.register_keras_serializable("keras_bert")
class ModernBERTBlock(TransformerBlock):
    """ModernBERT's pre-norm encoder block: x + sub-layer(LayerNorm(x)), twice.

    The first block has no LayerNorm before its attention. The index, from 0, decides whether the attention is local.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.index = index
        settings, policy, variant = self.config, self.dtype_policy, self.config.variant
        assert isinstance(variant, ModernBERT)
        # Smaller for output projections, so that residual sums do not grow with the depth (Shoeybi et al. 2019, 3).
        ranges = settings.initializer_range, settings.initializer_range / math.sqrt(2 * settings.num_layers)
        self.attention = RotaryAttention(
            settings.num_heads,
            variant.theta(index),
            settings.attention_dropout,
            *ranges,
            name="attention",
            dtype=policy,
        )
        self.feed_forward = GatedFeedForward(
            settings.intermediate_size,
            settings.activation,
            settings.dropout,
            *ranges,
            name="feed_forward",
            dtype=policy,
        )
        # The first token and those that it attends to in local attention.
        self.window = None if variant.is_global(index) else variant.reach + 1
        self.norms = ("attention_norm", "feed_forward_norm")[not index :]
        for name in self.norms:
            norm = keras.layers.LayerNormalization(
                epsilon=settings.layer_norm_epsilon, center=False, name=name, dtype=policy
            )
            setattr(self, name, norm)
        self.attention_norm_tap = Tap("attention_norm_tap")
        self.feed_forward_norm_tap = Tap("feed_forward_norm_tap")

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any) -> None:
        """Builds the sublayers for inputs (batch, length, hidden)."""
        self.attention.build(inputs_shape, attention_bias_shape)
        for part in (self.feed_forward, *(getattr(self, name) for name in self.norms)):
            part.build(inputs_shape)

    def call(self, inputs: Tensor, attention_bias: Tensor, first_only: bool = False, training: bool = False) -> Tensor:
        """(batch, length, hidden), bias (batch, 1, 1 or length, length) -> states; see `EncoderBlock.call`."""
        residual = inputs[:, :1] if first_only else inputs
        if first_only and self.window is not None:
            inputs, attention_bias = inputs[:, : self.window], attention_bias[:, :, :1, : self.window]
        normalized = self.attention_norm(inputs) if self.index else inputs
        normalized = self.attention_norm_tap(normalized, training)
        x = ops.add(residual, self.attention(normalized, attention_bias, first_only=first_only, training=training))
        normalized = self.feed_forward_norm_tap(self.feed_forward_norm(x), training)
        return ops.add(x, self.feed_forward(normalized, training=training))

    def weights_from(self, source: TransformerBlock) -> list[Any]:
        """As in `TransformerBlock`; a first block has no attention norm: gamma is folded into the next kernel."""
        weights = {path: weight.numpy() for path, weight in weights_by_path(source).items()}
        gamma = weights.get("attention_norm/gamma")
        if not self.index and gamma is not None:
            weights["attention/query_key_value/kernel"] = gamma[:, None] * weights["attention/query_key_value/kernel"]
        if self.index and gamma is None:
            weights["attention_norm/gamma"] = np.ones_like(weights["feed_forward_norm/gamma"])
        return [weights[path] for path in weights_by_path(self)]


def modernbert_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    variant = config.variant
    assert isinstance(variant, ModernBERT)
    table = TokenEmbedding(config.vocabulary_size, config.hidden_size, config.initializer_range, name="token_embedding")
    x = _norm(config, "embeddings_norm")(table(inputs["token_ids"]))
    x = Dropout(variant.embedding_dropout, name="embeddings_dropout")(x)
    global_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    local_bias = WindowBias(variant.reach, name="window_bias")(global_bias)
    for index in range(config.num_layers):
        block = ModernBERTBlock(config, index, name=f"block_{index}")
        x = block(x, global_bias if variant.is_global(index) else local_bias)
    return TapLayer(name="final_norm_tap")(_norm(config, "final_norm")(x))


def _norm(config: EncoderConfig, name: str) -> keras.layers.Layer:
    return keras.layers.LayerNormalization(epsilon=config.layer_norm_epsilon, center=False, name=name)
