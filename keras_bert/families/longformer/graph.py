"""Longformer's graph (Beltagy et al. 2020, section 3)."""

from collections.abc import Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.graph import embed
from keras_bert.families.longformer.layers import GlobalTokens, LongformerBlock
from keras_bert.layers.attention import AttentionBias

# The name of the layer that marks global tokens; heads replace it, see `keras_bert.models.global_tokens`.
GLOBAL_TOKENS = "global_tokens"


def longformer_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    x = embed(config, inputs)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    global_tokens = GlobalTokens(name=GLOBAL_TOKENS)(inputs["token_ids"], inputs["padding_mask"])
    for index in range(config.num_layers):
        x = LongformerBlock(config, index, name=f"block_{index}")(x, attention_bias, global_tokens)
    return x
