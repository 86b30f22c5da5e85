"""Longformer's attention and its block (Beltagy et al. 2020, sections 3 and 3.1)."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from keras import ops

from keras_bert.config import EncoderConfig
from keras_bert.layers.attention import MASK_BIAS, SelfAttention
from keras_bert.layers.block import as_config
from keras_bert.layers.blocks_of_tokens import fill_up, join_blocks, side_by_side, to_blocks, turned
from keras_bert.layers.encoder_block import VariantEncoderBlock
from keras_bert.variants.sliding_window import SlidingWindow

_OF_THE_CONFIG = ("num_heads", "dropout", "initializer_range")


class SlidingWindowAttention(SelfAttention):
    """Each token attends to those within its reach and to the global ones; these attend to all, by other projections.

    Queries stand in blocks as long as the reach, each beside the keys of its own block and of both neighbours, so that
    time and memory grow with the length and not with its square (section 3.1, appendix A: "sliding chunks").

    Args:
        config: of the encoder, or what `EncoderConfig.as_dict` made of it, as saved files have it.
        index: of the layer, from 0.
    """

    sees_all: ClassVar[bool] = False

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        known = as_config(config)
        super().__init__(known.num_heads, known.attention_dropout, known.initializer_range, **kwargs)
        assert isinstance(known.variant, SlidingWindow)
        self.config, self.index, self.reach = known, index, known.variant.reach(index)

    def build(  # type: ignore[override]
        self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any, global_tokens_shape: Any
    ) -> None:
        """Makes the projections, each (hidden, hidden), and the global tokens' own of query, key and value."""
        super().build(inputs_shape, attention_bias_shape)
        for name in ("global_query", "global_key", "global_value"):
            self._add_projection(name)

    def call(  # type: ignore[override]
        self, inputs: Any, attention_bias: Any, global_tokens: Any, training: bool = False
    ) -> Any:
        """States (batch, length, hidden), bias (batch, 1, 1, length), what `GlobalTokens` gives -> states."""
        shape = ops.shape(inputs)
        scaled = ops.multiply(self.query(inputs), 1 / math.sqrt(self.head_size))
        query = self._split_heads(self.query_tap(scaled, training), shape)
        key = self._split_heads(self.key(inputs), shape)
        value = self._split_heads(self.value(inputs), shape)
        # (batch, 1, first tokens, 1), none of them where no token of any text is global.
        chosen = ops.cast(global_tokens[:, None, :, None], self.compute_dtype)
        context = self._look_around(query, key, value, attention_bias, chosen, training)
        if chosen.shape[2] != 0:
            context = self._look_from_global(inputs, context, attention_bias, chosen, training)
        return self._join_heads(context, shape, training)

    def _look_around(self, query: Any, key: Any, value: Any, bias: Any, chosen: Any, training: bool) -> Any:
        """Within the reach of each token, and to the global ones: (batch, heads, length, head_size)."""
        length = ops.shape(query)[2]
        first = ops.shape(chosen)[2]
        queries = to_blocks(fill_up(query, self.reach), self.reach)
        near = self._near(key, 0.0)
        scores = ops.add(ops.matmul(queries, turned(near)), self._bias_of_near(bias, chosen))
        if chosen.shape[2] == 0:
            context = ops.matmul(self._shares(scores, training), self._near(value, 0.0))
            return join_blocks(context)[:, :, :length]
        to_global = ops.matmul(fill_up(query, self.reach), ops.transpose(key[:, :, :first], (0, 1, 3, 2)))
        hidden = ops.transpose(ops.multiply(ops.subtract(1.0, chosen), MASK_BIAS), (0, 1, 3, 2))
        to_global = to_blocks(ops.add(to_global, hidden), self.reach)
        shares = self._shares(ops.concatenate([to_global, scores], axis=-1), training)
        context = join_blocks(ops.matmul(shares[..., first:], self._near(value, 0.0)))
        of_global = ops.matmul(join_blocks(shares[..., :first]), value[:, :, :first])
        return ops.add(context, of_global)[:, :, :length]

    def _near(self, x: Any, outside: float) -> Any:
        """(batch, heads, length, width) -> (batch, heads, blocks, 3 x reach, width), `outside` beyond both ends."""
        room = ((0, 0), (0, 0), (self.reach, self.reach), (0, 0))
        padded = ops.pad(fill_up(x, self.reach, outside), room, constant_values=outside)
        return side_by_side(to_blocks(padded, self.reach))

    def _bias_of_near(self, bias: Any, chosen: Any) -> Any:
        """What hides padding, global tokens, which are seen elsewhere, and all that is too far.

        (batch, 1, 1, length), (batch, 1, first tokens, 1) -> (batch, 1, blocks, reach, 3 x reach).
        """
        columns = ops.transpose(ops.cast(bias, self.compute_dtype), (0, 1, 3, 2))
        if chosen.shape[2] != 0:
            first = ops.shape(chosen)[2]
            hidden = ops.minimum(columns[:, :, :first], ops.multiply(chosen, MASK_BIAS))
            columns = ops.concatenate([hidden, columns[:, :, first:]], axis=2)
        places = np.arange(3 * self.reach)[None, :] - np.arange(self.reach)[:, None] - self.reach
        far = ops.cast(np.where(np.abs(places) > self.reach, MASK_BIAS, 0.0), self.compute_dtype)
        # The smaller one, not their sum: an int8 range is shared with the scores.
        return ops.minimum(turned(self._near(columns, MASK_BIAS)), far)

    def _look_from_global(self, inputs: Any, context: Any, bias: Any, chosen: Any, training: bool) -> Any:
        """Puts what global tokens see, of all tokens, into their places among the first of `context`."""
        first, shape = ops.shape(chosen)[2], ops.shape(inputs)
        scaled = ops.multiply(self.global_query(inputs[:, :first]), 1 / math.sqrt(self.head_size))
        query = self._split_heads(self.query_tap(scaled, training), (shape[0], first))
        key = self._split_heads(self.global_key(inputs), shape)
        value = self._split_heads(self.global_value(inputs), shape)
        seen = self._look_at_all(query, key, value, bias, training)
        replaced = ops.where(ops.greater(chosen, 0), seen, context[:, :, :first])
        return ops.concatenate([replaced, context[:, :, first:]], axis=2)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {name: value for name, value in super().get_config().items() if name not in _OF_THE_CONFIG}
        return {**own, "config": self.config.as_dict(), "index": self.index}


class SlidingWindowBlock(VariantEncoderBlock):
    """BERT's block around `SlidingWindowAttention`, whose arguments these are."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        attention = SlidingWindowAttention(config, index, name="attention", dtype=kwargs.get("dtype"))
        super().__init__(config, attention, **kwargs)
        self.index = index

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any, global_tokens_shape: Any) -> None:  # type: ignore[override]
        """Builds the parts; all but the attention read (batch, length, hidden) alone."""
        self.attention.build(inputs_shape, attention_bias_shape, global_tokens_shape)
        self._build_rest(inputs_shape)

    def call(self, inputs: Any, attention_bias: Any, global_tokens: Any, training: bool = False) -> Any:  # type: ignore[override]
        """States (batch, length, hidden), bias (batch, 1, 1, length), what `GlobalTokens` gives -> states."""
        attended = self.attention(inputs, attention_bias, global_tokens, training=training)
        return self._complete(inputs, attended, training)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "index": self.index}
