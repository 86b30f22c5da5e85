"""MobileBERT's graph (Sun et al. 2020, section 3)."""

from collections.abc import Mapping
from typing import Any

import keras

from keras_bert.core.config import EncoderConfig
from keras_bert.families.mobilebert.layers import TORCH_EPSILON, MobileBERTBlock, Trigrams, make_norm
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.embeddings import EmbeddingProjection, PositionEmbedding, SegmentEmbedding, TokenEmbedding
from keras_bert.layers.tap import TapLayer


def mobilebert_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    x = _embed(config, inputs)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    for index in range(config.num_layers):
        x = MobileBERTBlock(config, name=f"block_{index}")(x, attention_bias)
    return x


def _embed(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """The sum of the embeddings; token embeddings are projected before the sum, not after it as in ELECTRA."""
    assert isinstance(config.variant, MobileBERT)
    assert config.embedding_size is not None
    spread = config.initializer_range
    x = TokenEmbedding(config.vocabulary_size, config.embedding_size, spread, name="token_embedding")(
        inputs["token_ids"]
    )
    x = Trigrams(name="trigrams")(x, inputs["padding_mask"])
    x = EmbeddingProjection(config.hidden_size, spread, name="embedding_projection")(x)
    x = PositionEmbedding(config.max_length, spread, config.position_offset, name="position_embedding")(x)
    if config.num_segments:
        x = SegmentEmbedding(config.num_segments, spread, name="segment_embedding")(x, inputs.get("segment_ids"))
    x = TapLayer(name="embeddings_sum_tap")(x)
    x = make_norm(config.variant.normalization, TORCH_EPSILON, name="embeddings_norm")(x)
    x = TapLayer(name="embeddings_norm_tap")(x)
    return keras.layers.Dropout(config.dropout, name="embeddings_dropout")(x)
