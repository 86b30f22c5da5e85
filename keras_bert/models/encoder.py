"""The BERT encoder (Devlin et al. 2019, section 3) as a functional Keras model."""

from typing import Any

import keras

from keras_bert.config import EncoderConfig
from keras_bert.folders import INPUT_NAMES
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.embeddings import PositionEmbedding, SegmentEmbedding, TokenEmbedding
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.heads import Pooler
from keras_bert.layers.tap import TapLayer


def build_encoder(config: EncoderConfig, *, pooler: bool = True) -> keras.Model:
    """Builds the encoder.

    Args:
        config: its shape.
        pooler: whether it has BERT's pooler, which some released checkpoints lack.

    Returns:
        A model from `token_ids`, `segment_ids`, `padding_mask`, each int32 (batch, length), to
        `sequence_output` (batch, length, hidden) and, with a pooler, `pooled_output` (batch, hidden).
    """
    spread = config.initializer_range
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in INPUT_NAMES}
    x = TokenEmbedding(config.vocabulary_size, config.hidden_size, spread, name="token_embedding")(inputs["token_ids"])
    x = PositionEmbedding(config.max_length, spread, name="position_embedding")(x)
    x = SegmentEmbedding(config.num_segments, spread, name="segment_embedding")(x, inputs["segment_ids"])
    x = TapLayer(name="embeddings_sum_tap")(x)
    x = keras.layers.LayerNormalization(epsilon=config.layer_norm_epsilon, name="embeddings_norm")(x)
    x = TapLayer(name="embeddings_norm_tap")(x)
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
    outputs = {"sequence_output": x}
    if pooler:
        outputs["pooled_output"] = Pooler(spread, name="pooler")(x)
    return keras.Model(inputs, outputs, name="encoder")


def encoder_of(model: keras.Model) -> keras.Model:
    """The encoder inside a model with heads; the weights are shared, not copied.

    Models with heads are one flat graph: Keras saves a layer that stands in a nested model and outside
    of it (the token embedding under the masked-token head) as two layers with weights of their own.

    Returns:
        What `build_encoder` returns; without `pooled_output` where the model has no pooler.

    Raises:
        ValueError: there is no encoder in the model.
    """
    inputs = {name: model.get_layer(name).output for name in INPUT_NAMES}
    outputs = {"sequence_output": blocks_of(model)[-1].output}
    if has_layer(model, "pooler"):
        outputs["pooled_output"] = model.get_layer("pooler").output
    return keras.Model(inputs, outputs, name="encoder")


def sequence_output(encoder: keras.Model) -> Any:
    """The final states of an encoder's tokens (batch, length, hidden).

    Raises:
        ValueError: it is no encoder, but a model with a head.
    """
    if not isinstance(encoder.output, dict) or "sequence_output" not in encoder.output:
        raise ValueError(f"encoder must be what build_encoder or a task's `encoder` gives, got model {encoder.name!r}")
    return encoder.output["sequence_output"]


def pooled_output(encoder: keras.Model) -> Any:
    """The output of an encoder's pooler (batch, hidden).

    Raises:
        ValueError: the encoder has none, as that of a model with mean pooling, or it is no encoder.
    """
    sequence_output(encoder)
    if "pooled_output" not in encoder.output:
        raise ValueError("encoder must have a pooler, got one without; pooling by the mean needs none")
    return encoder.output["pooled_output"]


def config_of(model: keras.Model) -> EncoderConfig:
    """The configuration of the encoder inside a model.

    Raises:
        ValueError: there is no encoder in the model.
    """
    blocks = blocks_of(model)
    tokens = model.get_layer("token_embedding")
    return EncoderConfig(
        num_layers=len(blocks),
        hidden_size=tokens.hidden_size,
        vocabulary_size=tokens.vocabulary_size,
        max_length=model.get_layer("position_embedding").max_length,
        num_segments=model.get_layer("segment_embedding").num_segments,
        **blocks[0].settings,
    )


def blocks_of(model: keras.Model) -> list[EncoderBlock]:
    """The encoder blocks of a model, first to last.

    Raises:
        ValueError: there are none.
    """
    blocks = [layer for layer in model.layers if isinstance(layer, EncoderBlock)]
    if not blocks:
        raise ValueError(f"model must hold an encoder, got {model.name!r} without encoder blocks")
    return sorted(blocks, key=lambda block: int(block.name.removeprefix("block_")))


def has_layer(model: keras.Model, name: str) -> bool:
    """Whether a model has a layer of this name."""
    return any(layer.name == name for layer in model.layers)
