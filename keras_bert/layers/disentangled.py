"""DeBERTa's attention and its block (He et al. 2021, section 3.1)."""

import math
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.config import EncoderConfig
from keras_bert.layers.attention import SelfAttention
from keras_bert.layers.block import as_config
from keras_bert.layers.encoder_block import VariantEncoderBlock
from keras_bert.layers.relative_positions import by_distance_to_pairs
from keras_bert.layers.tap import Tap
from keras_bert.variants.disentangled import Disentangled


class DisentangledAttention(SelfAttention):
    """softmax((Q K^T + Q Kr^T + (K Qr^T)^T) / sqrt(3 head_size) + bias) V (He et al. 2021, equation 4).

    Kr and Qr are keys and queries of the relative positions of each pair of tokens.

    Args:
        config: of the encoder, or what `EncoderConfig.as_dict` made of it, as saved files have it.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        known = as_config(config)
        super().__init__(known.num_heads, known.attention_dropout, known.initializer_range, **kwargs)
        assert isinstance(known.variant, Disentangled)
        self.config, self.variant = known, known.variant
        self.position_query_tap = Tap("position_query_tap")
        self.relative_dropout = keras.layers.Dropout(known.dropout, dtype=self.dtype_policy, name="relative_dropout")

    def build(  # type: ignore[override]
        self, inputs_shape: Any, attention_bias_shape: Any, relative_shape: Any
    ) -> None:
        """Makes the projections, each (hidden, hidden), those of positions where they are not the tokens' own."""
        self.head_size = self.config.head_size
        for name in ("query", "key", "value", "output_projection"):
            self._add_projection(name, self.variant.key_bias or name != "key")
        if self.variant.shared_projections:
            return
        if self.variant.content_to_position:
            self._add_projection("position_key", self.variant.key_bias)
        if self.variant.position_to_content:
            self._add_projection("position_query")

    def call(  # type: ignore[override]
        self, inputs: Any, attention_bias: Any, relative: Any, asking: Any = None, training: bool = False
    ) -> Any:
        """States (batch, length, hidden), bias (batch, 1, 1, length), what `RelativeEmbedding` gives -> states.

        Queries are made of `asking`, other states of the same tokens, where it is given.
        """
        shape = ops.shape(inputs)
        scale = 1 / math.sqrt(self.head_size * self.variant.terms)
        scaled = ops.multiply(self.query(inputs if asking is None else asking), scale)
        query = self._split_heads(self.query_tap(scaled, training), shape)
        key = self._split_heads(self.key(inputs), shape)
        value = self._split_heads(self.value(inputs), shape)
        scores = ops.add(attention_bias, ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))))
        relative = self.relative_dropout(relative, training=training)
        shared = self.variant.shared_projections
        if self.variant.content_to_position:
            positions = (self.key if shared else self.position_key)(relative[0])
            scores = ops.add(scores, by_distance_to_pairs(ops.matmul(query, self._columns(positions))))
        if self.variant.position_to_content:
            positions = (self.query if shared else self.position_query)(relative[1])
            positions = self.position_query_tap(ops.multiply(positions, scale), training)
            compared = ops.matmul(key, self._columns(positions))
            scores = ops.add(scores, ops.transpose(by_distance_to_pairs(compared), (0, 1, 3, 2)))
        return self._mix(scores, value, shape, training)

    def _columns(self, x: Any) -> Any:
        """(distances, hidden) -> (1, heads, head_size, distances)."""
        heads = ops.reshape(x, (1, -1, self.num_heads, self.head_size))
        return ops.transpose(heads, (0, 2, 3, 1))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {name: value for name, value in super().get_config().items() if name not in _OF_THE_CONFIG}
        return {**own, "config": self.config.as_dict()}


_OF_THE_CONFIG = ("num_heads", "dropout", "initializer_range")


class DisentangledBlock(VariantEncoderBlock):
    """BERT's block around `DisentangledAttention`.

    Args:
        config: of the encoder, or what `EncoderConfig.as_dict` made of it, as saved files have it.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, DisentangledAttention(config, name="attention", dtype=kwargs.get("dtype")), **kwargs)

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any, relative_shape: Any) -> None:  # type: ignore[override]
        """Builds the parts; all but the attention read (batch, length, hidden) alone."""
        self.attention.build(inputs_shape, attention_bias_shape, relative_shape)
        self._build_rest(inputs_shape)

    def call(  # type: ignore[override]
        self, inputs: Any, attention_bias: Any, relative: Any, asking: Any = None, training: bool = False
    ) -> Any:
        """States (batch, length, hidden), bias (batch, 1, 1, length), what `RelativeEmbedding` gives -> states.

        Of `asking`, other states of the same tokens, are the queries, and what the block adds to, where it is given.
        """
        attended = self.attention(inputs, attention_bias, relative, asking, training=training)
        return self._complete(inputs if asking is None else asking, attended, training)
