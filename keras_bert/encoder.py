"""The BERT encoder (Devlin et al. 2019, section 3) as a functional Keras model."""

import keras

from keras_bert.config import EncoderConfig
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.embeddings import PositionEmbedding, SegmentEmbedding, TokenEmbedding
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.heads import Pooler
from keras_bert.layers.tap import Tap

INPUT_NAMES = ("token_ids", "segment_ids", "padding_mask")


def build_encoder(config: EncoderConfig, name: str = "encoder") -> keras.Model:
    """Builds the encoder.

    Returns:
        A model from `token_ids`, `segment_ids`, `padding_mask`, each int32 (batch, length), to
        `sequence_output` (batch, length, hidden) and `pooled_output` (batch, hidden).
    """
    spread = config.initializer_range
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in INPUT_NAMES}
    x = TokenEmbedding(config.vocabulary_size, config.hidden_size, spread, name="token_embedding")(inputs["token_ids"])
    x = PositionEmbedding(config.max_length, spread, name="position_embedding")(x)
    x = SegmentEmbedding(config.num_segments, spread, name="segment_embedding")(x, inputs["segment_ids"])
    x = Tap(name="embeddings_sum_tap")(x)
    x = keras.layers.LayerNormalization(epsilon=config.layer_norm_epsilon, name="embeddings_norm")(x)
    x = Tap(name="embeddings_norm_tap")(x)
    x = keras.layers.Dropout(config.dropout, name="embeddings_dropout")(x)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    for index in range(config.num_layers):
        x = EncoderBlock(
            num_heads=config.num_heads,
            intermediate_size=config.intermediate_size,
            activation=config.activation,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            layer_norm_epsilon=config.layer_norm_epsilon,
            initializer_range=spread,
            name=f"block_{index}",
        )(x, attention_bias)
    pooled = Pooler(spread, name="pooler")(x)
    return keras.Model(inputs, {"sequence_output": x, "pooled_output": pooled}, name=name)


def encoder_of(model: keras.Model) -> keras.Model:
    """The encoder inside a model with heads; the weights are shared, not copied.

    Models with heads are one flat graph: Keras saves a layer that stands in a nested model and outside
    of it (the token embedding under the masked-token head) as two layers with weights of their own.

    Raises:
        ValueError: the model has no pooler, as a classifier with mean pooling has none.
    """
    pooler = model.get_layer("pooler")
    inputs = {name: model.get_layer(name).output for name in INPUT_NAMES}
    return keras.Model(inputs, {"sequence_output": pooler.input, "pooled_output": pooler.output}, name="encoder")
