"""MobileBERT's block: BERT's, with a projection to narrow states in front of it, and one back behind it."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.config import EncoderConfig
from keras_bert.layers.attention import SelfAttention
from keras_bert.layers.block import VariantBlock
from keras_bert.layers.dense import Dense
from keras_bert.layers.feed_forward import FeedForward
from keras_bert.layers.no_norm import make_norm
from keras_bert.layers.tap import Tap
from keras_bert.variants.bottleneck import Bottleneck

# What transformers gives no epsilon has PyTorch's: the last feed-forward layer's LayerNorm and that of the embeddings.
TORCH_EPSILON = 1e-5


class BottleneckBlock(VariantBlock):
    """Attention and several feed-forward layers on narrow states (Sun et al. 2020, figure 1 and table 1).

    Each part has its norm, most of them a residual: norm(x + part(x)). The last feed-forward layer has the name that
    BERT's only one has, the others have numbers, as in transformers.

    Args:
        config: of an encoder with a `Bottleneck`, or what `EncoderConfig.as_dict` made of it.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        own, variant = self.config, self.config.variant
        assert isinstance(variant, Bottleneck)
        self.narrow = variant.bottleneck_size
        self.feed_forwards = (*(f"feed_forward_{index}" for index in range(variant.feed_forwards - 1)), "feed_forward")
        spread, policy = own.initializer_range, {"dtype": self.dtype_policy}
        self.input_bottleneck = Dense(self.narrow, spread, name="input_bottleneck", **policy)
        parts = ["input_bottleneck", "attention", *self.feed_forwards, "output_bottleneck"]
        self.attention_bottleneck = None
        if not variant.bottleneck_attention:
            self.attention_bottleneck = Dense(self.narrow, spread, name="attention_bottleneck", **policy)
            parts.append("attention_bottleneck")
        self.attention = SelfAttention(own.num_heads, own.attention_dropout, spread, name="attention", **policy)
        for name in self.feed_forwards:
            setattr(self, name, FeedForward(own.intermediate_size, own.activation, spread, name=name, **policy))
        self.output_bottleneck = Dense(own.hidden_size, spread, name="output_bottleneck", **policy)
        self.output_dropout = keras.layers.Dropout(own.dropout, name="output_dropout", **policy)
        for part in parts:
            epsilon = TORCH_EPSILON if part == "feed_forward" else own.layer_norm_epsilon
            norm = make_norm(variant.normalization, epsilon, name=f"{part}_norm", **policy)
            setattr(self, f"{part}_norm", norm)
            setattr(self, f"{part}_norm_tap", Tap(f"{part}_norm_tap"))

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any) -> None:
        """Builds the parts; those between the two projections read (batch, length, narrow)."""
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

    def call(self, inputs: Any, attention_bias: Any, training: bool = False) -> Any:
        """(batch, length, hidden), bias (batch, 1, 1, length) -> (batch, length, hidden)."""
        narrow = self._normalized("input_bottleneck", self.input_bottleneck(inputs), training)
        if self.attention_bottleneck is None:
            attended = self.attention(narrow, attention_bias, training=training)
        else:
            asking = self._normalized("attention_bottleneck", self.attention_bottleneck(inputs), training)
            attended = self.attention(asking, attention_bias, inputs, training=training)
        # From here on rows, as in `EncoderBlock`.
        x = self._normalized("attention", ops.add(self._rows(narrow), self._rows(attended)), training)
        for name in self.feed_forwards:
            x = self._normalized(name, ops.add(x, getattr(self, name)(x)), training)
        wide = self.output_dropout(self.output_bottleneck(x), training=training)
        x = self._normalized("output_bottleneck", ops.add(self._rows(inputs), wide), training)
        return ops.reshape(x, ops.shape(inputs))

    def _normalized(self, part: str, x: Any, training: bool) -> Any:
        """What comes out of a part, its residual added, (..., width) -> (..., width)."""
        return getattr(self, f"{part}_norm_tap")(getattr(self, f"{part}_norm")(x), training)

    def _rows(self, x: Any) -> Any:
        return ops.reshape(x, (-1, x.shape[-1]))
