"""BigBird's attention and its block (Zaheer et al. 2020, section 2 and appendix D)."""

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
from keras_bert.layers.random_blocks import KNOWN_LENGTHS, draw_blocks, draw_known
from keras_bert.variants.block_sparse import BlockSparse

_OF_THE_CONFIG = ("num_heads", "dropout", "initializer_range")


class BlockSparseAttention(SelfAttention):
    """Each block of queries sees its own keys, its neighbours', the first's, the last's, and in training random ones.

    Without training the random blocks are the first one, as in transformers: it counts so many times more, which is a
    number added to its scores, and no key is looked up. Texts up to `BlockSparse.longest_full` tokens are seen whole.

    Args:
        config: of the encoder, or what `EncoderConfig.as_dict` made of it, as saved files have it.
        index: of the layer, from 0; the seed of its random blocks.
    """

    sees_all: ClassVar[bool] = False

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        known = as_config(config)
        super().__init__(known.num_heads, known.attention_dropout, known.initializer_range, **kwargs)
        assert isinstance(known.variant, BlockSparse)
        self.config, self.index, self.variant = known, index, known.variant

    def _look_at_all(self, query: Any, key: Any, value: Any, attention_bias: Any, training: bool) -> Any:
        """See `SelfAttention`; in blocks where the text is long."""
        length = ops.shape(query)[2]

        def whole() -> Any:
            return super(BlockSparseAttention, self)._look_at_all(query, key, value, attention_bias, training)

        def in_blocks() -> Any:
            return self._look_in_blocks(query, key, value, attention_bias, training)

        if self.variant.attention == "full":
            return whole()
        if isinstance(length, int):
            return in_blocks() if length > self.variant.longest_full else whole()
        return ops.cond(ops.greater(length, self.variant.longest_full), in_blocks, whole)

    def _look_in_blocks(self, query: Any, key: Any, value: Any, bias: Any, training: bool) -> Any:
        """Queries, keys and values (batch, heads, length, head_size), bias (batch, 1, 1, length) -> as the queries."""
        size, length = self.variant.block_size, ops.shape(query)[2]
        query, key, value = (fill_up(x, size) for x in (query, key, value))
        bias = fill_up(ops.transpose(ops.cast(bias, self.compute_dtype), (0, 1, 3, 2)), size, MASK_BIAS)
        ends = ops.concatenate([query[:, :, :size], query[:, :, -size:]], axis=2)
        seen = super()._look_at_all(ends, key, value, ops.transpose(bias, (0, 1, 3, 2)), training)
        between = self._look_between(query[:, :, size:-size], key, value, bias, training)
        return ops.concatenate([seen[:, :, :size], between, seen[:, :, size:]], axis=2)[:, :, :length]

    def _look_between(self, query: Any, key: Any, value: Any, bias: Any, training: bool) -> Any:
        """The same for the queries that are neither in the first block nor in the last; bias (batch, 1, length, 1)."""
        size = self.variant.block_size
        ends = [ops.concatenate([x[:, :, :size], x[:, :, -size:]], axis=2) for x in (key, value, bias)]
        key, value, bias = (to_blocks(x, size) for x in (key, value, bias))
        scores = ops.matmul(query, ops.transpose(ends[0], (0, 1, 3, 2)))
        of_ends = ops.add(to_blocks(scores, size), turned(self._weigh_first(ends[2], training)[:, :, None]))
        near = [side_by_side(x) for x in (key, value, bias)]
        queries = to_blocks(query, size)
        hidden = turned(ops.minimum(near[2], self._bias_of_ends(ops.shape(near[2])[2])))
        parts, values = [of_ends, ops.add(ops.matmul(queries, turned(near[0])), hidden)], [near[1]]
        if training and self.variant.random_blocks:
            chosen = self._draw(ops.shape(key)[2])
            looked_up = [self._take(x, chosen) for x in (key, value)]
            biases = self._take(ops.repeat(bias, self.num_heads, axis=1), chosen)
            parts.append(ops.add(ops.matmul(queries, turned(looked_up[0])), turned(biases)))
            values.append(looked_up[1])
        shares = self._shares(ops.concatenate(parts, axis=-1), training)
        context = ops.matmul(join_blocks(shares[..., : 2 * size]), ends[1])
        start = 2 * size
        for blocks, width in zip(values, (3 * size, self.variant.random_blocks * size), strict=False):
            seen = ops.matmul(shares[..., start : start + width], blocks)
            context, start = ops.add(context, join_blocks(seen)), start + width
        return context

    def _weigh_first(self, bias: Any, training: bool) -> Any:
        """Without training the first block (batch, 1, 2 x size, 1) stands for the random ones, too."""
        size, count = self.variant.block_size, self.variant.random_blocks
        if training or not count:
            return bias
        more = np.where(np.arange(2 * size) < size, math.log(1 + count), 0.0)
        return ops.add(bias, ops.cast(more[None, None, :, None], self.compute_dtype))

    def _bias_of_ends(self, rows: Any) -> Any:
        """Hides the first block and the last from those beside them, which see both: (1, 1, rows, 3 x size, 1)."""
        size = self.variant.block_size
        places, columns = ops.arange(rows)[:, None], np.arange(3 * size)[None, :]
        first = ops.logical_and(ops.equal(places, 0), columns < size)
        last = ops.logical_and(ops.equal(places, rows - 1), columns >= 2 * size)
        return ops.multiply(ops.cast(ops.logical_or(first, last), self.compute_dtype), MASK_BIAS)[
            None, None, :, :, None
        ]

    def _draw(self, blocks: Any) -> Any:
        """The random blocks of each head and block of queries, int32 (heads, blocks - 2, count)."""
        size, drawn = self.variant.block_size, (self.num_heads, self.variant.random_blocks, self.index)
        most = self.config.max_length
        known = [length // size for length in KNOWN_LENGTHS if length % size == 0 and length <= most]
        if isinstance(blocks, int):
            return (draw_known(most, size, *drawn) if blocks in known else draw_blocks(blocks, *drawn))[:, : blocks - 2]
        tables = [draw_blocks(-(-most // size), *drawn)]
        tables += [draw_known(most, size, *drawn)] if known else []
        cut = [ops.convert_to_tensor(table)[:, : blocks - 2] for table in tables]
        if not known:
            return cut[0]
        is_known = ops.any(ops.equal(blocks, np.array(known, "int32")))
        return ops.cond(is_known, lambda: cut[1], lambda: cut[0])

    def _take(self, blocks: Any, chosen: Any) -> Any:
        """Blocks (batch, heads, blocks, size, width), their numbers (heads, rows, count) -> those of each row.

        Returns:
            (batch, heads, rows, count x size, width).
        """
        batch, heads, count, size, width = ops.shape(blocks)
        numbers = ops.add(chosen, (ops.arange(heads) * count)[:, None, None])
        flat = ops.reshape(blocks, (batch, -1, size * width))
        found = ops.take(flat, ops.reshape(numbers, (-1,)), axis=1)
        return ops.reshape(found, (batch, heads, -1, self.variant.random_blocks * size, width))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {name: value for name, value in super().get_config().items() if name not in _OF_THE_CONFIG}
        return {**own, "config": self.config.as_dict(), "index": self.index}


class BlockSparseBlock(VariantEncoderBlock):
    """BERT's block around `BlockSparseAttention`, whose arguments these are."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        attention = BlockSparseAttention(config, index, name="attention", dtype=kwargs.get("dtype"))
        super().__init__(config, attention, **kwargs)
        self.index = index

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "index": self.index}
