"""ModernBERT's pre-norm encoder block (Warner et al. 2024)."""

import math
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.modernbert.gated_feed_forward import GatedFeedForward
from keras_bert.families.modernbert.rotary_attention import RotaryAttention
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.layers.block import TransformerBlock, weights_by_path
from keras_bert.layers.tap import Tap


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

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "index": self.index}
