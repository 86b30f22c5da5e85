"""Draws the random blocks of BigBird's attention as transformers does.

Zaheer et al. 2020, section 2; `modeling_big_bird.py` of huggingface/transformers, version 5. Block indices start at 0.
The first and the last block attend to all tokens, so that the tables have rows only for the blocks between them.
"""

import functools
from typing import Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.tensors import Tensor

Array = np.ndarray[Any, Any]

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

    `longest` is the model's longest input and `size` that of a block, both in tokens; shorter texts use the first rows.
    The seed is the index of the layer.

    Raises:
        ValueError: there are fewer than `count` blocks to draw from.
    """
    random = np.random.RandomState(seed)
    blocks = longest // size
    middle = np.arange(1, blocks - 1, dtype=np.int32)
    last = _PLAN_END // size - 1 if 2 * size < _PLAN_END else blocks - 1
    tables = [_draw_table(random, middle, blocks, last, count, size) for _ in range(heads)]
    return np.stack(tables)


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
