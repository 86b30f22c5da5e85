"""DeBERTa's graph (He et al. 2021, section 3)."""

from collections.abc import Mapping
from typing import Any

from keras_bert.checks import check
from keras_bert.config import EncoderConfig
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.convolution import ConvolutionSum
from keras_bert.layers.disentangled import DisentangledBlock
from keras_bert.layers.relative_positions import RelativeEmbedding
from keras_bert.models.graphs.bert import embed
from keras_bert.variants.disentangled import Disentangled


def disentangled_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    variant = config.variant
    assert isinstance(variant, Disentangled)
    # Final states are what the last block gives, for all who look for them.
    followed = not variant.convolution or config.num_layers > 1
    check("EncoderConfig", "num_layers", followed, "be at least 2 with a convolution", config.num_layers)
    embedded = x = embed(config, inputs, positions=variant.absolute_positions)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    relative = RelativeEmbedding(config, name="relative_embedding")(x)
    block = None
    for index in range(config.num_layers):
        if block is None or not config.shared_layers:
            block = DisentangledBlock(config, name=f"block_{index}")
        x = block(x, attention_bias, relative)
        if variant.convolution and not index:
            x = ConvolutionSum(config, name="convolution")(embedded, x, inputs["padding_mask"])
    return x
