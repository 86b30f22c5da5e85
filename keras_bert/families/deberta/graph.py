"""DeBERTa's graph (He et al. 2021, section 3)."""

from collections.abc import Mapping
from typing import Any

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.graph import embed
from keras_bert.families.deberta.layers import ConvolutionSum, DeBERTaBlock, RelativeEmbedding
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.layers.attention import AttentionBias


def deberta_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    variant = config.variant
    assert isinstance(variant, DeBERTa)
    # The final states must be the output of a block, not of the convolution after the first block.
    ends_with_block = not variant.convolution or config.num_layers > 1
    check("EncoderConfig", "num_layers", ends_with_block, "be at least 2 with a convolution", config.num_layers)
    embedded = x = embed(config, inputs, positions=variant.absolute_positions)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    relative = RelativeEmbedding(config, name="relative_embedding")(x)
    block = None
    for index in range(config.num_layers):
        if block is None or not config.shared_layers:
            block = DeBERTaBlock(config, name=f"block_{index}")
        x = block(x, attention_bias, relative)
        if variant.convolution and not index:
            x = ConvolutionSum(config, name="convolution")(embedded, x, inputs["padding_mask"])
    return x
