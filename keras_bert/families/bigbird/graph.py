"""BigBird's graph (Zaheer et al. 2020)."""

from collections.abc import Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.graph import embed
from keras_bert.families.bigbird.layers import BigBirdBlock
from keras_bert.layers.attention import AttentionBias


def bigbird_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    x = embed(config, inputs)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    for index in range(config.num_layers):
        x = BigBirdBlock(config, index, name=f"block_{index}")(x, attention_bias)
    return x
