"""DeBERTa's enhanced mask decoder (He et al. 2021, section 3.2)."""

from typing import Any

import keras

from keras_bert.core.checks import check
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.layers.adapters import DecodedStates
from keras_bert.layers.embeddings import PositionEmbedding
from keras_bert.models.encoder import blocks_of, calls_of, config_of, sequence_output

POSITIONS = "mask_decoder_positions"
# The number of further calls of the last block (section 3.2: n = 2, with the same weights).
_CALLS = 2


def decoded_states(encoder: keras.Model) -> Any:
    """DeBERTa's enhanced mask decoder: states (batch, length, hidden) with absolute positions, for masked tokens.

    It calls the last block two more times, each time on the inputs of this block. The queries of the first call are
    these inputs plus an embedding of each absolute position, those of the second call are the outputs of the first
    (`EnhancedMaskDecoder` of the released code, with H the second to last layer). Only pre-training uses it.

    Raises:
        ValueError: the encoder has another variant, or its embeddings contain absolute positions already.
    """
    config, last = config_of(encoder), blocks_of(encoder)[-1]
    fits = isinstance(config.variant, DeBERTa) and not config.variant.absolute_positions
    rule = "have the variant 'deberta' without absolute_positions for a mask decoder"
    check("EncoderConfig", "variant", fits, rule, config.variant)
    below, attention_bias, relative = calls_of(encoder, last)[-1].input_tensors
    table = PositionEmbedding(config.max_length, config.initializer_range, config.position_offset, name=POSITIONS)
    states = table(below)
    for _ in range(_CALLS):
        states = last(below, attention_bias, relative, states)
    return DecodedStates(name="mask_decoder_states")(states, sequence_output(encoder))
