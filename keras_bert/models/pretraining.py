"""Adds the heads of pre-training to encoders: BERT's (Devlin et al. 2019, section 3.1) and SpanBERT's."""

from typing import Any

import keras

from keras_bert.core.checks import check
from keras_bert.core.config import Activation
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.layers.adapters import DecodedStates
from keras_bert.layers.dense import Dense
from keras_bert.layers.embeddings import PositionEmbedding
from keras_bert.layers.heads import MaskedTokenTransform, OutputBias, OutputColumns
from keras_bert.layers.span_boundary import SpanBoundaryTransform
from keras_bert.models.encoder import (
    blocks_of,
    calls_of,
    config_of,
    encoder_of,
    has_prediction_head,
    pooled_output,
    sequence_output,
)
from keras_bert.models.global_tokens import with_global_tokens

POSITIONS = "mask_decoder_positions"
# The number of further calls of the last block (section 3.2: n = 2, with the same weights).
_CALLS = 2


def build_pretraining(
    encoder: keras.Model,
    *,
    next_sentence: bool = True,
    mask_decoder: bool = False,
    activation: Activation | None = None,
) -> keras.Model:
    """Adds the heads for masked tokens and next sentence prediction to an encoder, whose weights the result shares.

    The second head needs a pooler. With `mask_decoder` masked tokens are predicted from `decoded_states`, which need
    DeBERTa's graph. `activation` is that of the first head; None for the encoder's.

    The model has the inputs of the encoder and `mask_positions` int32 (batch, predictions), and the outputs
    `masked_tokens` (batch, predictions, vocabulary) and, with the second head, `next_sentence` (batch, 2), logits.
    """
    encoder = with_global_tokens(encoder, "none")
    config = config_of(encoder)
    mask_positions = keras.Input((None,), dtype="int32", name="mask_positions")
    # MobileBERT's states are wider than its token embedding: its output matrix has extra columns.
    further = config.hidden_size - (config.embedding_size or 0) if isinstance(config.variant, MobileBERT) else 0
    transform = MaskedTokenTransform(
        activation or config.activation,
        config.layer_norm_epsilon,
        config.initializer_range,
        None if further else config.embedding_size,
        use_bias=not has_prediction_head(config),
        name="masked_token_transform",
    )
    masked_states = transform(decoded_states(encoder) if mask_decoder else sequence_output(encoder), mask_positions)
    scores = encoder.get_layer("token_embedding")(masked_states, reverse=True)
    if further:
        scores = OutputColumns(further, config.initializer_range, name="masked_token_columns")(masked_states, scores)
    logits = {"masked_tokens": OutputBias(name="masked_token_bias")(scores)}
    if next_sentence:
        logits["next_sentence"] = Dense(2, config.initializer_range, name="next_sentence")(pooled_output(encoder))
    return keras.Model({**encoder.input, "mask_positions": mask_positions}, logits, name="pretraining")


def add_span_boundary(model: keras.Model) -> keras.Model:
    """Adds SpanBERT's head, which predicts masked tokens from the boundaries of their span (Joshi et al. 2020, 3.2).

    The result shares the model's weights, and has the additional output `boundary_tokens` (batch, predictions,
    vocabulary), logits. The head is only used in training: released checkpoints do not contain it. Its output matrix is
    the token embedding.
    """
    config, encoder = config_of(model), encoder_of(model)
    tokens = model.get_layer("token_embedding")
    transform = SpanBoundaryTransform(
        tokens.hidden_size,
        config.activation,
        config.layer_norm_epsilon,
        config.initializer_range,
        name="span_boundary_transform",
    )
    scores = tokens(transform(sequence_output(encoder), model.input["mask_positions"]), reverse=True)
    logits = OutputBias(name="span_boundary_bias")(scores)
    return keras.Model(model.input, {**model.output, "boundary_tokens": logits}, name="span_boundary")


def decoded_states(encoder: keras.Model) -> Any:
    """DeBERTa's enhanced mask decoder: states (batch, length, hidden) with absolute positions, for masked tokens.

    It calls the last block two more times, each time on the inputs of this block. The queries of the first call are
    these inputs plus an embedding of each absolute position, those of the second call are the outputs of the first
    (`EnhancedMaskDecoder` of the released code, with H the second to last layer). Only pre-training uses it.
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
