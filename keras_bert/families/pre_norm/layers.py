"""The pre-norm encoder block (Shoeybi et al. 2019, figure 7), and its graph."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.bert.graph import embed, encode
from keras_bert.families.pre_norm.settings import PreNorm
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.tap import TapLayer


@keras.saving.register_keras_serializable("keras_bert")
class PreNormBlock(EncoderBlock):
    """BERT's encoder block with LayerNorm before the sublayers: x + sub-layer(LayerNorm(x)), twice."""

    def call(self, inputs: Tensor, attention_bias: Tensor, first_only: bool = False, training: bool = False) -> Tensor:
        normalized = self.attention_norm_tap(self.attention_norm(inputs), training)
        if first_only:
            attended = self.attention(normalized, attention_bias, query_states=normalized[:, :1])
            inputs = inputs[:, :1]
        else:
            attended = self.attention(normalized, attention_bias, training=training)
        x = ops.add(inputs, self.attention_dropout(attended, training=training))
        x = self.attention_sum_tap(x, training)
        normalized = self.feed_forward_norm_tap(self.feed_forward_norm(x), training)
        total = ops.add(x, self.feed_forward_dropout(self.feed_forward(normalized), training=training))
        return self.feed_forward_sum_tap(total, training)


def pre_norm_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    assert isinstance(config.variant, PreNorm)
    x = embed(config, inputs, norm=config.variant.embeddings_norm)
    x = encode(config, x, AttentionBias(name="attention_bias")(inputs["padding_mask"]), PreNormBlock)
    x = keras.layers.LayerNormalization(epsilon=config.layer_norm_epsilon, name="final_norm")(x)
    return TapLayer(name="final_norm_tap")(x)
