"""Longformer's graph (Beltagy et al. 2020, section 3)."""

from collections.abc import Mapping
from typing import Any

from keras_bert.config import EncoderConfig
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.global_tokens import GlobalTokens
from keras_bert.layers.sliding_window import SlidingWindowBlock
from keras_bert.models.graphs.bert import embed

# The layer that says which tokens are global; heads change it, see `keras_bert.models.global_tokens`.
GLOBAL_TOKENS = "global_tokens"


def sliding_window_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    x = embed(config, inputs)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    global_tokens = GlobalTokens(name=GLOBAL_TOKENS)(inputs["token_ids"], inputs["padding_mask"])
    for index in range(config.num_layers):
        x = SlidingWindowBlock(config, index, name=f"block_{index}")(x, attention_bias, global_tokens)
    return x
