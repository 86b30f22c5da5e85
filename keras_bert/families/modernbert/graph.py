"""ModernBERT's graph (Warner et al. 2024, section 2.1)."""

from collections.abc import Mapping
from typing import Any

import keras

from keras_bert.core.config import EncoderConfig
from keras_bert.families.modernbert.layers import ModernBERTBlock, WindowBias
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.layers.tap import TapLayer


def modernbert_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    variant = config.variant
    assert isinstance(variant, ModernBERT)
    table = TokenEmbedding(config.vocabulary_size, config.hidden_size, config.initializer_range, name="token_embedding")
    x = _norm(config, "embeddings_norm")(table(inputs["token_ids"]))
    x = keras.layers.Dropout(variant.embedding_dropout, name="embeddings_dropout")(x)
    global_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    local_bias = WindowBias(variant.reach, name="window_bias")(global_bias)
    for index in range(config.num_layers):
        block = ModernBERTBlock(config, index, name=f"block_{index}")
        x = block(x, global_bias if variant.is_global(index) else local_bias)
    return TapLayer(name="final_norm_tap")(_norm(config, "final_norm")(x))


def _norm(config: EncoderConfig, name: str) -> keras.layers.Layer:
    return keras.layers.LayerNormalization(epsilon=config.layer_norm_epsilon, center=False, name=name)
