"""MobileBERT's encoder block, which computes on narrower states than those between blocks, and its graph."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.mobilebert.settings import MobileBERT, Normalization
from keras_bert.layers.attention import AttentionBias, SelfAttention
from keras_bert.layers.block import TransformerBlock
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.embeddings import EmbeddingProjection, PositionEmbedding, SegmentEmbedding, TokenEmbedding
from keras_bert.layers.feed_forward import FeedForward
from keras_bert.layers.tap import Tap, TapLayer


@keras.saving.register_keras_serializable("keras_bert")
class NoNorm(keras.layers.Layer):
    """MobileBERT's replacement of LayerNorm: gamma x + beta, element by element (Sun et al. 2020, section 3.3)."""

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes gamma (hidden,) of ones, and beta (hidden,) of zeros."""
        for name, start in (("gamma", "ones"), ("beta", "zeros")):
            # In float32, as the bias of `Dense`: the gradients are sums over all rows.
            setattr(self, name, self.add_weight(name=name, shape=(input_shape[-1],), initializer=start, autocast=False))

    def call(self, inputs: Tensor) -> Tensor:
        """(..., hidden) -> (..., hidden)."""
        moved = ops.add(ops.multiply(ops.cast(inputs, "float32"), self.gamma), self.beta)
        return ops.cast(moved, self.compute_dtype)


def make_norm(kind: Normalization, epsilon: float, **kwargs: Any) -> keras.layers.Layer:
    """Makes a normalization layer; LayerNorm adds epsilon to the variance."""
    return NoNorm(**kwargs) if kind == "no_norm" else keras.layers.LayerNormalization(epsilon=epsilon, **kwargs)


@keras.saving.register_keras_serializable("keras_bert")
class Trigrams(keras.layers.Layer):
    """Concatenates the embeddings of the next token, the token and the previous token (Sun et al. 2020, section 3.4).

    Beyond the ends of a text, and in its padding, embeddings are zero, so that the result does not depend on the length
    of the batch. transformers uses the embedding of the padding token, which is zero in models trained with it.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.output_tap = Tap("output_tap")

    def call(self, inputs: Tensor, padding_mask: Tensor, training: bool = False) -> Tensor:
        """(batch, length, width), 1 for a token and 0 for padding (batch, length) -> (batch, length, 3 x width)."""
        text = ops.multiply(inputs, ops.expand_dims(ops.cast(padding_mask, self.compute_dtype), -1))
        padded = ops.pad(text, ((0, 0), (1, 1), (0, 0)))
        return self.output_tap(ops.concatenate([padded[:, 2:], text, padded[:, :-2]], axis=-1), training)

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], padding_mask_shape: Any) -> Any:
        """(batch, length, 3 x width)."""
        width = inputs_shape[-1]
        assert width is not None
        return (*inputs_shape[:-1], 3 * width)


# PyTorch's default, which transformers uses in the LayerNorm of the embeddings and of the last feed-forward layer.
TORCH_EPSILON = 1e-5


@keras.saving.register_keras_serializable("keras_bert")
class MobileBERTBlock(TransformerBlock):
    """MobileBERT's bottleneck block: attention and several feed-forward layers on narrower states.

    Each sublayer is followed by a norm, most of them also by a residual: norm(x + sublayer(x)) (Sun et al. 2020, figure
    1 and table 1). As in transformers, the last feed-forward layer has the name of BERT's, the others have numbers.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        settings, variant = self.config, self.config.variant
        assert isinstance(variant, MobileBERT)
        self.narrow = variant.bottleneck_size
        self.feed_forwards = (*(f"feed_forward_{index}" for index in range(variant.feed_forwards - 1)), "feed_forward")
        spread, policy = settings.initializer_range, {"dtype": self.dtype_policy}
        self.input_bottleneck = Dense(self.narrow, spread, name="input_bottleneck", **policy)
        parts = ["input_bottleneck", "attention", *self.feed_forwards, "output_bottleneck"]
        self.attention_bottleneck = None
        if not variant.bottleneck_attention:
            self.attention_bottleneck = Dense(self.narrow, spread, name="attention_bottleneck", **policy)
            parts.append("attention_bottleneck")
        self.attention = SelfAttention(
            settings.num_heads, settings.attention_dropout, spread, name="attention", **policy
        )
        for name in self.feed_forwards:
            setattr(
                self, name, FeedForward(settings.intermediate_size, settings.activation, spread, name=name, **policy)
            )
        self.output_bottleneck = Dense(settings.hidden_size, spread, name="output_bottleneck", **policy)
        self.output_dropout = Dropout(settings.dropout, name="output_dropout", **policy)
        for part in parts:
            epsilon = TORCH_EPSILON if part == "feed_forward" else settings.layer_norm_epsilon
            setattr(self, f"{part}_norm", make_norm(variant.normalization, epsilon, name=f"{part}_norm", **policy))
            setattr(self, f"{part}_norm_tap", Tap(f"{part}_norm_tap"))

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any) -> None:
        """Builds the sublayers; the inputs between the two bottleneck projections are (batch, length, narrow)."""
        narrow = (*inputs_shape[:-1], self.narrow)
        self.input_bottleneck.build(inputs_shape)
        if self.attention_bottleneck is not None:
            self.attention_bottleneck.build(inputs_shape)
            self.attention_bottleneck_norm.build(narrow)
        wide = inputs_shape if self.attention_bottleneck is not None else None
        self.attention.build(narrow, attention_bias_shape, wide)
        for name in self.feed_forwards:
            getattr(self, name).build(narrow)
        for part in ("input_bottleneck", "attention", *self.feed_forwards):
            getattr(self, f"{part}_norm").build(narrow)
        self.output_bottleneck.build(narrow)
        self.output_bottleneck_norm.build(inputs_shape)

    def call(self, inputs: Tensor, attention_bias: Tensor, first_only: bool = False, training: bool = False) -> Tensor:
        """(batch, length, hidden), bias (batch, 1, 1, length) -> (batch, length, hidden); see `EncoderBlock.call`."""

        def select(states: Tensor) -> Tensor:
            return states[:, :1] if first_only else states

        residual = select(inputs)
        if self.attention_bottleneck is None:
            states, values = self._normalize("input_bottleneck", self.input_bottleneck(inputs), training), None
            narrow = select(states)
        else:
            # Only the residual connection reads the input bottleneck.
            narrow = self._normalize("input_bottleneck", self.input_bottleneck(residual), training)
            states = self._normalize("attention_bottleneck", self.attention_bottleneck(inputs), training)
            values = inputs
        attended = self.attention(states, attention_bias, values, select(states), training=training)
        # Matrices, as in `EncoderBlock`.
        x = self._normalize("attention", ops.add(self._rows(narrow), self._rows(attended)), training)
        for name in self.feed_forwards:
            x = self._normalize(name, ops.add(x, getattr(self, name)(x)), training)
        wide = self.output_dropout(self.output_bottleneck(x), training=training)
        x = self._normalize("output_bottleneck", ops.add(self._rows(residual), wide), training)
        return ops.reshape(x, ops.shape(residual))

    def _normalize(self, part: str, x: Tensor, training: bool) -> Tensor:
        """Applies the norm of a sublayer to its output, (..., width) -> (..., width)."""
        return getattr(self, f"{part}_norm_tap")(getattr(self, f"{part}_norm")(x), training)

    def _rows(self, x: Tensor) -> Tensor:
        return ops.reshape(x, (-1, x.shape[-1]))


def mobilebert_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    # Token embeddings are projected before the sum, not after it as in ELECTRA.
    assert isinstance(config.variant, MobileBERT)
    assert config.embedding_size is not None
    spread = config.initializer_range
    x = TokenEmbedding(config.vocabulary_size, config.embedding_size, spread, name="token_embedding")(
        inputs["token_ids"]
    )
    x = Trigrams(name="trigrams")(x, inputs["padding_mask"])
    x = EmbeddingProjection(config.hidden_size, spread, name="embedding_projection")(x)
    x = PositionEmbedding(config.max_length, spread, config.position_offset, name="position_embedding")(x)
    if config.num_segments:
        x = SegmentEmbedding(config.num_segments, spread, name="segment_embedding")(x, inputs.get("segment_ids"))
    x = TapLayer(name="embeddings_sum_tap")(x)
    x = make_norm(config.variant.normalization, TORCH_EPSILON, name="embeddings_norm")(x)
    x = TapLayer(name="embeddings_norm_tap")(x)
    x = Dropout(config.dropout, name="embeddings_dropout")(x)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    for index in range(config.num_layers):
        x = MobileBERTBlock(config, name=f"block_{index}")(x, attention_bias)
    return x
