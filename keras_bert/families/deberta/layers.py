"""DeBERTa's attention and encoder block (He et al. 2021, section 3.1)."""

import math
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.deberta.relative_positions import by_distance_to_pairs
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.layers.attention import ConfiguredAttention
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.tap import Tap


@keras.saving.register_keras_serializable("keras_bert")
class DeBERTaAttention(ConfiguredAttention):
    """DeBERTa's disentangled attention to the contents and the relative positions of tokens.

    It is softmax((Q K^T + Q Kr^T + (K Qr^T)^T) / sqrt(3 head_size) + bias) V, where Kr and Qr are the keys and queries
    of the relative positions between pairs of tokens (He et al. 2021, equation 4).
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        assert isinstance(self.config.variant, DeBERTa)
        self.variant = self.config.variant
        if self.variant.position_to_content:
            self.position_query_tap = Tap("position_query_tap")
        self.relative_dropout = keras.layers.Dropout(
            self.config.dropout, dtype=self.dtype_policy, name="relative_dropout"
        )

    def build(  # type: ignore[override]
        self, inputs_shape: Any, attention_bias_shape: Any, relative_shape: Any
    ) -> None:
        """Makes the projections, each (hidden, hidden), and separate ones of positions if they are not shared."""
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
        self,
        inputs: Tensor,
        attention_bias: Tensor,
        relative: Tensor,
        query_states: Tensor = None,
        first_only: bool = False,
        training: bool = False,
    ) -> Tensor:
        """Attends to all tokens by content and relative position: (batch, length, hidden).

        The bias is (batch, 1, 1, length). `relative` is the output of `RelativeEmbedding` (2, 2 x length, hidden). Q is
        computed from `query_states`, other states of the same tokens, if these are set. With `first_only` these and the
        result are the first token's (batch, 1, hidden).
        """
        shape = ops.shape(inputs)
        query_states = inputs if query_states is None else query_states
        query_shape = ops.shape(query_states)
        scale = 1 / math.sqrt(self.head_size * self.variant.terms)
        scaled = ops.multiply(self.query(query_states), scale)
        query = self._split_heads(self.query_tap(scaled, training), query_shape)
        key = self._split_heads(self.key(inputs), shape)
        value = self._split_heads(self.value(inputs), shape)
        scores = ops.add(attention_bias, ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))))
        relative = self.relative_dropout(relative, training=training)
        # The first token's distances to the keys are 0, -1, ..., 1 - length: the last rows of [0], one for each key.
        from_query = relative[0, shape[1] :] if first_only else relative[0]
        from_keys = from_query if first_only else relative[1]
        shared = self.variant.shared_projections
        if self.variant.content_to_position:
            positions = self._columns((self.key if shared else self.position_key)(from_query))
            by_distance = ops.matmul(query, positions)
            scores = ops.add(scores, by_distance if first_only else by_distance_to_pairs(by_distance))
        if self.variant.position_to_content:
            positions = (self.query if shared else self.position_query)(from_keys)
            positions = self._columns(self.position_query_tap(ops.multiply(positions, scale), training))
            if first_only:
                # Each key is multiplied by the query of its distance alone, in place of those of all distances.
                products = ops.multiply(ops.transpose(key, (0, 1, 3, 2)), positions)
                by_query = ops.sum(products, axis=2, keepdims=True)
            else:
                by_query = ops.transpose(by_distance_to_pairs(ops.matmul(key, positions)), (0, 1, 3, 2))
            scores = ops.add(scores, by_query)
        context = ops.matmul(self._attention_probabilities(scores, training), value)
        return self._join_heads(context, query_shape, training)

    def _columns(self, x: Tensor) -> Tensor:
        """(distances, hidden) -> (1, heads, head_size, distances)."""
        heads = ops.reshape(x, (1, -1, self.num_heads, self.head_size))
        return ops.transpose(heads, (0, 2, 3, 1))


@keras.saving.register_keras_serializable("keras_bert")
class DeBERTaBlock(EncoderBlock):
    """DeBERTa's encoder block: BERT's block with `DeBERTaAttention`."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, DeBERTaAttention(config, name="attention", dtype=kwargs.get("dtype")), **kwargs)

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any, relative_shape: Any) -> None:  # type: ignore[override]
        """Builds the sublayers for inputs (batch, length, hidden)."""
        self.attention.build(inputs_shape, attention_bias_shape, relative_shape)
        self._build_after_attention(inputs_shape)

    def call(  # type: ignore[override]
        self,
        inputs: Tensor,
        attention_bias: Tensor,
        relative: Tensor,
        query_states: Tensor = None,
        first_only: bool = False,
        training: bool = False,
    ) -> Tensor:
        """Computes the next states; for the arguments see `DeBERTaAttention` and `EncoderBlock.call`.

        The residual connection adds `query_states` if they are given.
        """
        query_states = inputs if query_states is None else query_states
        query_states = query_states[:, :1] if first_only else query_states
        attended = self.attention(
            inputs, attention_bias, relative, query_states, first_only=first_only, training=training
        )
        return self._add_and_feed_forward(query_states, attended, training)
