"""BERT's graph (Devlin et al. 2019, section 3), and its embeddings, which other families share."""

from collections.abc import Mapping
from typing import Any

import keras

from keras_bert.core.config import EncoderConfig
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.embeddings import EmbeddingProjection, PositionEmbedding, SegmentEmbedding, TokenEmbedding
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.tap import TapLayer


def bert_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    return encode(config, embed(config, inputs), AttentionBias(name="attention_bias")(inputs["padding_mask"]))


def encode(config: EncoderConfig, x: Any, attention_bias: Any, kind: type[EncoderBlock] = EncoderBlock) -> Any:
    """Applies blocks of a kind to embeddings (batch, length, hidden), with the bias of `EncoderBlock.call`."""
    block = None
    for index in range(config.num_layers):
        # Constructed in the order of the graph, because initial weights depend on the number of earlier random draws.
        if block is None or not config.shared_layers:
            block = kind(config, name=f"block_{index}")
        x = block(x, attention_bias)
    return x


def embed(config: EncoderConfig, inputs: Mapping[str, Any], *, positions: bool = True, norm: bool = True) -> Any:
    """Adds the embeddings of tokens, positions (if asked) and segments, and normalizes (if asked).

    Inputs by name, each int32 (batch, length) -> (batch, length, hidden).
    """
    spread, width = config.initializer_range, config.embedding_size or config.hidden_size
    tokens = TokenEmbedding(config.vocabulary_size, width, spread, config.embedding_rank, name="token_embedding")
    x = tokens(inputs["token_ids"])
    if positions:
        x = PositionEmbedding(config.max_length, spread, config.position_offset, name="position_embedding")(x)
    if config.num_segments:
        x = SegmentEmbedding(config.num_segments, spread, name="segment_embedding")(x, inputs.get("segment_ids"))
    x = TapLayer(name="embeddings_sum_tap")(x)
    if norm:
        x = keras.layers.LayerNormalization(epsilon=config.layer_norm_epsilon, name="embeddings_norm")(x)
        x = TapLayer(name="embeddings_norm_tap")(x)
    x = Dropout(config.dropout, name="embeddings_dropout")(x)
    if config.embedding_size is not None:
        x = EmbeddingProjection(config.hidden_size, spread, name="embedding_projection")(x)
    return x
