"""The layers and the graph of Gemma 3 with attention in both directions (released code of transformers, `gemma3`)."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import keras
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.gated.layers import GatedLinearUnit
from keras_bert.families.modernbert.layers import WindowBias
from keras_bert.layers.attention import AttentionBias, ConfiguredAttention
from keras_bert.layers.block import SavedLayer, TransformerBlock
from keras_bert.layers.dense import Dense
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.layers.rotary import rotary_table, rotate
from keras_bert.layers.tap import Tap
from plugins.gemma.settings import Gemma


@keras.saving.register_keras_serializable("keras_bert_gemma")
class RootMeanSquareNorm(SavedLayer):
    """x / sqrt(mean(x^2) + epsilon) * (1 + gamma), in float32 (Zhang and Sennrich 2019, equation 4)."""

    def __init__(self, epsilon: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Makes gamma (width,), 0 before a training."""
        self.gamma = self.add_weight(name="gamma", shape=(inputs_shape[-1],), initializer="zeros", autocast=False)

    def call(self, inputs: Tensor) -> Tensor:
        """(..., width) -> (..., width)."""
        exact = ops.cast(inputs, "float32")
        squares = ops.mean(ops.square(exact), axis=-1, keepdims=True)
        scale = ops.rsqrt(squares + self.epsilon) * (1.0 + ops.convert_to_tensor(self.gamma))
        return ops.cast(exact * scale, inputs.dtype)


@keras.saving.register_keras_serializable("keras_bert_gemma")
class EmbeddingScale(keras.layers.Layer):
    """Multiplies the vectors of tokens with the root of their width."""

    def call(self, inputs: Tensor) -> Tensor:
        """(batch, length, hidden) -> (batch, length, hidden)."""
        return ops.multiply(inputs, math.sqrt(inputs.shape[-1]))


@keras.saving.register_keras_serializable("keras_bert_gemma")
class GemmaAttention(ConfiguredAttention):
    """Attention with rotary positions, norms of queries and keys, and fewer heads of keys than of queries."""

    # No tap on the queries before the rotation: it is computed in float, so that no int8 kernel reads them.
    taps: ClassVar[tuple[str, ...]] = ("scores_tap", "probabilities_tap", "context_tap")

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.index = index

    def build(  # type: ignore[override]
        self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any
    ) -> None:
        """Makes query and output (hidden, hidden), key and value (hidden, their heads), and the norms of a head."""
        config, variant = self.config, self.config.variant
        assert isinstance(variant, Gemma)
        self.variant, self.head_size = variant, config.head_size
        width = variant.key_value_heads * self.head_size
        for name, units in (("query", None), ("key", width), ("value", width), ("output_projection", None)):
            self._add_projection(name, use_bias=False, output_size=units)
        for name in ("query_norm", "key_norm"):
            norm = RootMeanSquareNorm(config.layer_norm_epsilon, name=name, dtype=self.dtype_policy)
            norm.build((None, self.head_size))
            setattr(self, name, norm)

    def call(  # type: ignore[override]
        self, inputs: Tensor, attention_bias: Tensor, training: bool = False
    ) -> Tensor:
        """Attends to all tokens: (batch, length, hidden), bias (batch, 1, 1 or length, length)."""
        shape, variant = ops.shape(inputs), self.variant
        theta = variant.global_theta if self.index in variant.global_layers else variant.local_theta
        table = rotary_table(shape[1], self.head_size, theta)
        query = rotate(self.query_norm(self._split_heads(self.query(inputs), shape)), table)
        key = rotate(self.key_norm(self._split_groups(self.key(inputs), shape)), table)
        value = self._split_groups(self.value(inputs), shape)
        context = self._attend(
            ops.multiply(query, 1 / math.sqrt(self.head_size)),
            self._repeat(key),
            self._repeat(value),
            attention_bias,
            training,
        )
        return self._join_heads(context, shape, training)

    def _split_groups(self, x: Tensor, shape: Any) -> Tensor:
        heads = self.variant.key_value_heads
        return ops.transpose(ops.reshape(x, (shape[0], shape[1], heads, self.head_size)), (0, 2, 1, 3))

    def _repeat(self, x: Tensor) -> Tensor:
        """(batch, heads of keys, length, head_size) -> (batch, heads, length, head_size)."""
        return ops.repeat(x, self.num_heads // self.variant.key_value_heads, axis=1)


@keras.saving.register_keras_serializable("keras_bert_gemma")
class GemmaUnit(GatedLinearUnit):
    """The gated feed-forward layer without biases."""

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes G and W (hidden, intermediate), and W2 (intermediate, hidden)."""
        config = self.config
        sizes = {"gate": config.hidden_size, "intermediate": config.hidden_size, "output_projection": None}
        for name, rows in sizes.items():
            units = config.intermediate_size if rows else config.hidden_size
            dense = Dense(units, config.initializer_range, use_bias=False, name=name, dtype=self.dtype_policy)
            dense.build((*input_shape[:-1], rows or config.intermediate_size))
            setattr(self, name, dense)


@keras.saving.register_keras_serializable("keras_bert_gemma")
class GemmaBlock(TransformerBlock):
    """x + norm(sub-layer(norm(x))), twice; the index, from 0, decides whether the attention is local."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.index, policy = index, self.dtype_policy
        self.attention = GemmaAttention(self.config, index, name="attention", dtype=policy)
        self.feed_forward = GemmaUnit(self.config, name="feed_forward", dtype=policy)
        self.norms = ("attention_norm", "attention_output_norm", "feed_forward_norm", "feed_forward_output_norm")
        for name in self.norms:
            setattr(self, name, RootMeanSquareNorm(self.config.layer_norm_epsilon, name=name, dtype=policy))
        self.attention_norm_tap = Tap("attention_norm_tap")
        self.feed_forward_norm_tap = Tap("feed_forward_norm_tap")

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any) -> None:
        """Builds the sublayers for inputs (batch, length, hidden)."""
        self.attention.build(inputs_shape, attention_bias_shape)
        for part in (self.feed_forward, *(getattr(self, name) for name in self.norms)):
            part.build(inputs_shape)

    def call(self, inputs: Tensor, attention_bias: Tensor, training: bool = False) -> Tensor:
        """(batch, length, hidden), bias (batch, 1, 1 or length, length) -> states."""
        normalized = self.attention_norm_tap(self.attention_norm(inputs), training)
        attended = self.attention(normalized, attention_bias, training=training)
        x = ops.add(inputs, self.attention_output_norm(attended))
        normalized = self.feed_forward_norm_tap(self.feed_forward_norm(x), training)
        return ops.add(x, self.feed_forward_output_norm(self.feed_forward(normalized, training=training)))


def gemma_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    variant = config.variant
    assert isinstance(variant, Gemma)
    table = TokenEmbedding(config.vocabulary_size, config.hidden_size, config.initializer_range, name="token_embedding")
    x = EmbeddingScale(name="embedding_scale")(table(inputs["token_ids"]))
    bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    local_bias = WindowBias(variant.window // 2, name="window_bias")(bias)
    for index in range(config.num_layers):
        block = GemmaBlock(config, index, name=f"block_{index}")
        x = block(x, bias if index in variant.global_layers else local_bias)
    return RootMeanSquareNorm(config.layer_norm_epsilon, name="final_norm")(x)
