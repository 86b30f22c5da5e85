"""The encoder with its two pre-training heads (Devlin et al. 2019, section 3.1), and a third for training alone."""

import keras

from keras_bert.layers.dense import Dense
from keras_bert.layers.heads import MaskedTokenTransform, OutputBias, OutputColumns
from keras_bert.layers.span_boundary import SpanBoundaryTransform
from keras_bert.models.encoder import config_of, encoder_of, has_prediction_head, pooled_output, sequence_output
from keras_bert.models.mask_decoder import decoded_states
from keras_bert.variants.bottleneck import Bottleneck


def build_pretraining(encoder: keras.Model, *, next_sentence: bool = True, mask_decoder: bool = False) -> keras.Model:
    """Puts the heads on an encoder that predict masked tokens and whether B follows A.

    Args:
        encoder: what `build_encoder` returns; its weights are shared, not copied.
        next_sentence: whether there is the second head, which needs an encoder with a pooler.
        mask_decoder: whether masked tokens are predicted from `decoded_states`, which needs one of DeBERTa's graph.

    Returns:
        A model from the encoder's inputs and `mask_positions` int32 (batch, predictions) to `masked_tokens`
        (batch, predictions, vocabulary) and, with the second head, `next_sentence` (batch, 2), both logits.

    Raises:
        ValueError: the second head is wanted and the encoder has no pooler, or the decoder and its graph is another.
    """
    config = config_of(encoder)
    mask_positions = keras.Input((None,), dtype="int32", name="mask_positions")
    # Such an encoder scores with states wider than the token embedding.
    further = config.hidden_size - (config.embedding_size or 0) if isinstance(config.variant, Bottleneck) else 0
    transform = MaskedTokenTransform(
        config.activation,
        config.layer_norm_epsilon,
        config.initializer_range,
        None if further else config.embedding_size,
        use_bias=not has_prediction_head(config),
        name="masked_token_transform",
    )
    states = decoded_states(encoder) if mask_decoder else sequence_output(encoder)
    chosen = transform(states, mask_positions)
    scores = encoder.get_layer("token_embedding")(chosen, reverse=True)
    if further:
        scores = OutputColumns(further, config.initializer_range, name="masked_token_columns")(chosen, scores)
    logits = {"masked_tokens": OutputBias(name="masked_token_bias")(scores)}
    if next_sentence:
        logits["next_sentence"] = Dense(2, config.initializer_range, name="next_sentence")(pooled_output(encoder))
    return keras.Model({**encoder.input, "mask_positions": mask_positions}, logits, name="pretraining")


def add_span_boundary(model: keras.Model) -> keras.Model:
    """Adds a head that predicts hidden tokens from the borders of their span (Joshi et al. 2020, section 3.2).

    It is for training alone: no released checkpoint holds one, and nothing else reads it.

    Args:
        model: what `build_pretraining` returns; its weights are shared, and the output matrix is the token embedding.

    Returns:
        The model with the output `boundary_tokens` (batch, predictions, vocabulary), logits, besides its own.
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
