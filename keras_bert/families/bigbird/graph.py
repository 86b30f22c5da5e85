"""BigBird's graph (Zaheer et al. 2020)."""

from collections.abc import Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.graph import embed
from keras_bert.families.bigbird.layers import BigBirdBlock
from keras_bert.layers.attention import AttentionBias


def bigbird_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden).

    Examples:
        >>> import keras
        >>> from keras_bert.families.bigbird.settings import BigBird
        >>> sizes = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 16, "vocabulary_size": 20}
        >>> inputs = {name: keras.Input((5,), dtype="int32") for name in ("token_ids", "padding_mask", "segment_ids")}
        >>> bigbird_states(EncoderConfig(**sizes, variant=BigBird()), inputs).shape
        (None, 5, 8)
    """
    x = embed(config, inputs)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    for index in range(config.num_layers):
        x = BigBirdBlock(config, index, name=f"block_{index}")(x, attention_bias)
    return x
