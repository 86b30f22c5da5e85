"""DeBERTa's graph (He et al. 2021, section 3)."""

from collections.abc import Mapping
from typing import Any

from keras_bert.config import EncoderConfig
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.disentangled import DisentangledBlock
from keras_bert.layers.relative_positions import RelativeEmbedding
from keras_bert.models.graphs.bert import embed
from keras_bert.variants.disentangled import Disentangled


def disentangled_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    assert isinstance(config.variant, Disentangled)
    x = embed(config, inputs, positions=config.variant.absolute_positions)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    relative = RelativeEmbedding(config, name="relative_embedding")(x)
    block = None
    for index in range(config.num_layers):
        if block is None or not config.shared_layers:
            block = DisentangledBlock(config, name=f"block_{index}")
        x = block(x, attention_bias, relative)
    return x
