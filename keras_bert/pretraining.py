"""The encoder with its two pre-training heads (Devlin et al. 2019, section 3.1)."""

import keras

from keras_bert.config import EncoderConfig
from keras_bert.encoder import build_encoder
from keras_bert.layers.dense import Dense
from keras_bert.layers.heads import MaskedTokenTransform, OutputBias


def build_pretraining(config: EncoderConfig) -> keras.Model:
    """Builds an encoder that predicts masked tokens and whether B follows A.

    Returns:
        A model from the encoder's inputs and `mask_positions` int32 (batch, predictions) to
        `masked_tokens` (batch, predictions, vocabulary) and `next_sentence` (batch, 2), both logits.
    """
    encoder = build_encoder(config)
    mask_positions = keras.Input((None,), dtype="int32", name="mask_positions")
    transform = MaskedTokenTransform(
        config.activation, config.layer_norm_epsilon, config.initializer_range, name="masked_token_transform"
    )
    chosen = transform(encoder.output["sequence_output"], mask_positions)
    scores = encoder.get_layer("token_embedding")(chosen, reverse=True)
    next_sentence = Dense(2, config.initializer_range, name="next_sentence")
    logits = {
        "masked_tokens": OutputBias(name="masked_token_bias")(scores),
        "next_sentence": next_sentence(encoder.output["pooled_output"]),
    }
    return keras.Model({**encoder.input, "mask_positions": mask_positions}, logits, name="pretraining")
