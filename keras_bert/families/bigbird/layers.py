"""BigBird's attention, encoder block and graph (Zaheer et al. 2020, section 2 and appendix D)."""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import keras
import numpy as np
from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.bert.graph import embed
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.layers.attention import MASK_BIAS, AttentionBias, ConfiguredAttention
from keras_bert.layers.blocks_of_tokens import (
    join_blocks,
    pad_to_blocks,
    split_blocks,
    transpose_blocks,
    with_neighbours,
)
from keras_bert.layers.encoder_block import EncoderBlock

Array = np.ndarray[Any, Any]

# Random blocks are those of `modeling_big_bird.py` in huggingface/transformers, version 5; indices start at 0. The
# first and the last block attend to all tokens, so that tables have rows only for the blocks between them.

# The lengths in tokens, with padding, at which the paper's models were trained. transformers has a separate rule for
# the random blocks of these lengths.
PLANNED_LENGTHS = (1024, 3072, 4096)
_PLAN_END = 1024


@functools.lru_cache(maxsize=64)
def draw_blocks(blocks: int, heads: int, count: int, seed: int) -> Array:
    """Draws `count` of the first 2 x `count` + 5 blocks, for a length that is not in `PLANNED_LENGTHS`.

    The table of a shorter text has the first rows of the table of a longer text: int32 (heads, blocks - 2, count). The
    seed is the index of the layer.
    """
    random = np.random.RandomState(seed)
    end = 2 * count + 5
    table = np.zeros((heads, blocks, count), np.int32)
    for row in range(1, blocks):
        excluded = {row - 1, row, row + 1, 0, end - 1}
        # The second block does not attend to the second to last one, nor vice versa.
        excluded |= {end - 2} if row == 1 else {1} if row == end - 2 else set()
        for head in range(heads if count else 0):
            permutation = random.permutation(np.arange(end, dtype=np.int32))
            table[head, row] = [block for block in permutation if block not in excluded][:count]
    return table[:, 1:-1]


@functools.lru_cache(maxsize=64)
def draw_planned_blocks(longest: int, size: int, heads: int, count: int, seed: int) -> Array:
    """Draws blocks for one of `PLANNED_LENGTHS`, from the first 1024 tokens: int32 (heads, longest // size - 2, count).

    `longest` is the model's maximum length, `size` the length of a block, in tokens; shorter texts use the first rows.
    The seed is the index of the layer.
    """
    random = np.random.RandomState(seed)
    blocks = longest // size
    middle = np.arange(1, blocks - 1, dtype=np.int32)
    last = _PLAN_END // size - 1 if 2 * size < _PLAN_END else blocks - 1
    return np.stack([_draw_table(random, middle, blocks, last, count, size) for _ in range(heads)])


def _draw_table(random: Tensor, middle: Array, blocks: int, last: int, count: int, size: int) -> Array:
    """The table of one head (blocks - 2, count)."""
    table = np.zeros((blocks - 2, count), np.int32)
    for row in range(1, blocks - 1):
        if row <= 2:
            allowed = middle[row + 1 : last]
        elif row >= blocks - 3 or row - 2 > last:
            allowed = middle[:last]
        elif row + 1 == last:
            allowed = middle[: row - 2]
        else:
            allowed = np.concatenate((middle[: row - 2], middle[row + 1 : last]))
        rule = f"leave {count} blocks to draw from in the first {_PLAN_END} tokens"
        check("BigBird", "block_size", len(allowed) >= count, rule, size)
        table[row - 1] = random.permutation(allowed)[:count]
    return table


@keras.saving.register_keras_serializable("keras_bert")
class BigBirdAttention(ConfiguredAttention):
    """BigBird's attention: each block attends to itself, its neighbours, the first, the last and some random blocks.

    As in transformers, all random blocks are the first block at inference. Rather than repeating this block, the
    attention adds the logarithm of the number of copies to its scores, so that no keys are gathered. Texts of up to
    `BigBird.longest_full` tokens get full attention. The index of the layer, from 0, is the seed of its random blocks.
    """

    scores_all_pairs: ClassVar[bool] = False

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        assert isinstance(self.config.variant, BigBird)
        self.index, self.variant = index, self.config.variant

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, attention_bias: Tensor, training: bool) -> Tensor:
        """As `SelfAttention._attend`, but in blocks if the text is long."""
        length = ops.shape(query)[2]

        def attend_fully() -> Any:
            return super(BigBirdAttention, self)._attend(query, key, value, attention_bias, training)

        def attend_in_blocks() -> Any:
            return self._attend_in_blocks(query, key, value, attention_bias, training)

        if self.variant.attention == "full":
            return attend_fully()
        if isinstance(length, int):
            return attend_in_blocks() if length > self.variant.longest_full else attend_fully()
        return ops.cond(ops.greater(length, self.variant.longest_full), attend_in_blocks, attend_fully)

    def _attend_in_blocks(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, training: bool) -> Tensor:
        """Block-sparse attention.

        Queries, keys, values (batch, heads, length, head_size), bias (batch, 1, 1, length) -> the shape of the queries.
        """
        size, length = self.variant.block_size, ops.shape(query)[2]
        query, key, value = (pad_to_blocks(x, size) for x in (query, key, value))
        bias = pad_to_blocks(ops.transpose(ops.cast(bias, self.compute_dtype), (0, 1, 3, 2)), size, MASK_BIAS)
        end_queries = ops.concatenate([query[:, :, :size], query[:, :, -size:]], axis=2)
        ends = super()._attend(end_queries, key, value, ops.transpose(bias, (0, 1, 3, 2)), training)
        middle = self._attend_from_middle(query[:, :, size:-size], key, value, bias, training)
        return ops.concatenate([ends[:, :, :size], middle, ends[:, :, size:]], axis=2)[:, :, :length]

    def _attend_from_middle(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, training: bool) -> Tensor:
        """The contexts of all queries that are not in the first or the last block; bias (batch, 1, length, 1)."""
        size = self.variant.block_size
        end_keys, end_values, end_bias = (
            ops.concatenate([x[:, :, :size], x[:, :, -size:]], axis=2) for x in (key, value, bias)
        )
        key, value, bias = (split_blocks(x, size) for x in (key, value, bias))
        end_scores = split_blocks(ops.matmul(query, ops.transpose(end_keys, (0, 1, 3, 2))), size)
        end_scores = ops.add(end_scores, transpose_blocks(self._with_copies(end_bias, training)[:, :, None]))
        near_keys, near_values, near_bias = (with_neighbours(x) for x in (key, value, bias))
        queries = split_blocks(query, size)
        near_bias = ops.minimum(near_bias, self._bias_of_ends(ops.shape(near_bias)[2]))
        near_scores = ops.add(ops.matmul(queries, transpose_blocks(near_keys)), transpose_blocks(near_bias))
        scores, values = [end_scores, near_scores], [near_values]
        if training and self.variant.random_blocks:
            numbers = self._random_blocks(ops.shape(key)[2])
            random_keys, random_values = (self._gather_blocks(x, numbers) for x in (key, value))
            random_bias = self._gather_blocks(ops.repeat(bias, self.num_heads, axis=1), numbers)
            random_scores = ops.matmul(queries, transpose_blocks(random_keys))
            scores.append(ops.add(random_scores, transpose_blocks(random_bias)))
            values.append(random_values)
        probabilities = self._attention_probabilities(ops.concatenate(scores, axis=-1), training)
        context = ops.matmul(join_blocks(probabilities[..., : 2 * size]), end_values)
        start = 2 * size
        for blocks, width in zip(values, (3 * size, self.variant.random_blocks * size), strict=False):
            block_context = ops.matmul(probabilities[..., start : start + width], blocks)
            context, start = ops.add(context, join_blocks(block_context)), start + width
        return context

    def _with_copies(self, bias: Tensor, training: bool) -> Tensor:
        """Adds the log of the number of copies of the first block at inference; bias (batch, 1, 2 x size, 1)."""
        size, copies = self.variant.block_size, self.variant.random_blocks
        if training or not copies:
            return bias
        weight = np.where(np.arange(2 * size) < size, math.log(1 + copies), 0.0)
        return ops.add(bias, ops.cast(weight[None, None, :, None], self.compute_dtype))

    def _bias_of_ends(self, rows: Tensor) -> Tensor:
        """Masks the first and the last block as neighbours, because they have their own scores.

        Returns the bias (1, 1, rows, 3 x size, 1).
        """
        size = self.variant.block_size
        places, columns = ops.arange(rows)[:, None], np.arange(3 * size)[None, :]
        first = ops.logical_and(ops.equal(places, 0), columns < size)
        last = ops.logical_and(ops.equal(places, rows - 1), columns >= 2 * size)
        bias = ops.multiply(ops.cast(ops.logical_or(first, last), self.compute_dtype), MASK_BIAS)
        return bias[None, None, :, :, None]

    def _random_blocks(self, blocks: Tensor) -> Tensor:
        """The indices of the random blocks for each head and block of queries, int32 (heads, blocks - 2, count)."""
        size, settings = self.variant.block_size, (self.num_heads, self.variant.random_blocks, self.index)
        longest = self.config.max_length
        planned = [length // size for length in PLANNED_LENGTHS if length % size == 0 and length <= longest]
        if isinstance(blocks, int):
            is_planned = blocks in planned
            table = draw_planned_blocks(longest, size, *settings) if is_planned else draw_blocks(blocks, *settings)
            return table[:, : blocks - 2]
        tables = [draw_blocks(-(-longest // size), *settings)]
        tables += [draw_planned_blocks(longest, size, *settings)] if planned else []
        rows = [ops.convert_to_tensor(table)[:, : blocks - 2] for table in tables]
        if not planned:
            return rows[0]
        is_planned = ops.any(ops.equal(blocks, np.array(planned, "int32")))
        return ops.cond(is_planned, lambda: rows[1], lambda: rows[0])

    def _gather_blocks(self, blocks: Tensor, numbers: Tensor) -> Tensor:
        """Gathers blocks by their indices, int32 (heads, rows, count).

        (batch, heads, blocks, size, width) -> (batch, heads, rows, count x size, width)
        """
        batch, heads, count, size, width = ops.shape(blocks)
        flat_numbers = ops.reshape(ops.add(numbers, (ops.arange(heads) * count)[:, None, None]), (-1,))
        gathered = ops.take(ops.reshape(blocks, (batch, -1, size * width)), flat_numbers, axis=1)
        return ops.reshape(gathered, (batch, heads, -1, self.variant.random_blocks * size, width))

    def full_probabilities(self, recorded: Sequence[Any], length: int, global_tokens: Any = None) -> Any:
        """See `SelfAttention.full_probabilities`: blocks at their places, 0 elsewhere."""
        if len(recorded) == 1:
            return super().full_probabilities(recorded, length)
        size, (ends, middle) = self.variant.block_size, recorded
        padded = ends.shape[-1]
        full = np.zeros((*ends.shape[:2], padded, padded), "float32")
        full[:, :, :size], full[:, :, -size:] = ends[:, :, :size], ends[:, :, size:]
        for row in range(middle.shape[2]):
            queries = full[:, :, (row + 1) * size : (row + 2) * size]
            queries[..., :size] += middle[:, :, row, :, :size]
            queries[..., -size:] += middle[:, :, row, :, size : 2 * size]
            queries[..., row * size : (row + 3) * size] += middle[:, :, row, :, 2 * size :]
        return full[:, :, :length, :length]


@keras.saving.register_keras_serializable("keras_bert")
class BigBirdBlock(EncoderBlock):
    """BigBird's encoder block: BERT's block with `BigBirdAttention`."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        super().__init__(config, BigBirdAttention(config, index, name="attention", dtype=kwargs.get("dtype")), **kwargs)
        self.index = index


def bigbird_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    x = embed(config, inputs)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    for index in range(config.num_layers):
        x = BigBirdBlock(config, index, name=f"block_{index}")(x, attention_bias)
    return x
