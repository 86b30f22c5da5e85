"""ModernBERT's block: each sub-layer reads normalized states and adds to those that are not (Warner et al. 2024)."""

import math
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.config import EncoderConfig
from keras_bert.layers.block import Block, VariantBlock, by_place
from keras_bert.layers.gated_feed_forward import GatedFeedForward
from keras_bert.layers.rotary_attention import RotaryAttention
from keras_bert.layers.tap import Tap
from keras_bert.variants.modern import Modern


class ModernBlock(VariantBlock):
    """x + sub-layer(LayerNorm(x)), twice; the first block reads the embeddings as they are, which are normalized.

    Args:
        config: of the encoder, or what `EncoderConfig.as_dict` made of it, as saved files have it.
        index: of the block, from 0 on: it says whether the block attends to a window, and whether it is the first.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.index = index
        known, policy, variant = self.config, self.dtype_policy, self.config.variant
        assert isinstance(variant, Modern)
        # So that the sums do not grow with the layers: Shoeybi et al. 2019, section 3, as Radford et al. 2019.
        ranges = known.initializer_range, known.initializer_range / math.sqrt(2 * known.num_layers)
        self.attention = RotaryAttention(
            known.num_heads, variant.theta(index), known.attention_dropout, *ranges, name="attention", dtype=policy
        )
        self.feed_forward = GatedFeedForward(
            known.intermediate_size, known.activation, known.dropout, *ranges, name="feed_forward", dtype=policy
        )
        self.norms = ("attention_norm", "feed_forward_norm")[not index :]
        for name in self.norms:
            norm = keras.layers.LayerNormalization(
                epsilon=known.layer_norm_epsilon, center=False, name=name, dtype=policy
            )
            setattr(self, name, norm)
        self.attention_norm_tap = Tap("attention_norm_tap")
        self.feed_forward_norm_tap = Tap("feed_forward_norm_tap")

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any) -> None:
        """Builds the parts, which all read (batch, length, hidden)."""
        self.attention.build(inputs_shape, attention_bias_shape)
        for part in (self.feed_forward, *(getattr(self, name) for name in self.norms)):
            part.build(inputs_shape)

    def call(self, inputs: Any, attention_bias: Any, training: bool = False) -> Any:
        """(batch, length, hidden), bias (batch, 1, 1 or length, length) -> (batch, length, hidden)."""
        read = self.attention_norm(inputs) if self.index else inputs
        read = self.attention_norm_tap(read, training)
        x = ops.add(inputs, self.attention(read, attention_bias, training=training))
        read = self.feed_forward_norm_tap(self.feed_forward_norm(x), training)
        return ops.add(x, self.feed_forward(read, training=training))

    def weights_from(self, source: Block) -> list[Any]:
        """See `Block`; the scale of a norm that a first block has not goes into the product that reads it."""
        held = {place: weight.numpy() for place, weight in by_place(source).items()}
        gamma = held.get("attention_norm/gamma")
        if not self.index and gamma is not None:
            held["attention/query_key_value/kernel"] = gamma[:, None] * held["attention/query_key_value/kernel"]
        if self.index and gamma is None:
            held["attention_norm/gamma"] = np.ones_like(held["feed_forward_norm/gamma"])
        return [held[place] for place in by_place(self)]

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "index": self.index}
