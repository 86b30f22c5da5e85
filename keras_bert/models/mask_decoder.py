"""DeBERTa's decoder of masked tokens (He et al. 2021, section 3.2)."""

from typing import Any

import keras

from keras_bert.checks import check
from keras_bert.layers.adapters import DecodedStates
from keras_bert.layers.embeddings import PositionEmbedding
from keras_bert.models.encoder import blocks_of, calls_of, config_of, sequence_output
from keras_bert.variants.disentangled import Disentangled

POSITIONS = "mask_decoder_positions"
# How often the last block is called (section 3.2: n = 2, with the same weights).
_CALLS = 2


def decoded_states(encoder: keras.Model) -> Any:
    """The states that masked tokens are predicted from, told where in the text their tokens stand.

    The last block is called once more, and again on what it gave: it reads the states below it, and asks with the same
    plus a vector for each absolute position (`EnhancedMaskDecoder` of the released code, with H the second to last
    layer). No other head needs it; a model for another task leaves it out.

    Args:
        encoder: what `build_encoder` returns, of the variant `disentangled`.

    Returns:
        States (batch, length, hidden).

    Raises:
        ValueError: the encoder is of another graph, or its embeddings hold absolute positions already.
    """
    config, last = config_of(encoder), blocks_of(encoder)[-1]
    fits = isinstance(config.variant, Disentangled) and not config.variant.absolute_positions
    rule = "have the variant 'disentangled' without absolute_positions for a mask decoder"
    check("EncoderConfig", "variant", fits, rule, config.variant)
    below, attention_bias, relative = calls_of(encoder, last)[-1].input_tensors
    table = PositionEmbedding(config.max_length, config.initializer_range, config.position_offset, name=POSITIONS)
    asking = table(below)
    for _ in range(_CALLS):
        asking = last(below, attention_bias, relative, asking)
    return DecodedStates(name="mask_decoder_states")(asking, sequence_output(encoder))
