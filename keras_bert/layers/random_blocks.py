"""Which blocks BigBird's queries see by chance, drawn as transformers draws them.

Zaheer et al. 2020, section 2; `modeling_big_bird.py` of huggingface/transformers, version 5. Blocks are counted from 0;
the first and the last see all, so that there are rows for those between alone.
"""

import functools
from typing import Any

import numpy as np

from keras_bert.checks import check

Array = np.ndarray[Any, Any]

# Lengths in tokens, padding included, that the paper's models were trained with; they have a plan of their own.
KNOWN_LENGTHS = (1024, 3072, 4096)
_KNOWN_END = 1024


@functools.lru_cache(maxsize=64)
def draw_blocks(blocks: int, heads: int, count: int, seed: int) -> Array:
    """Blocks for a length that is none of `KNOWN_LENGTHS`: `count` of the first 2 x `count` + 5.

    Those of a shorter text are the first rows of a longer one's.

    Args:
        blocks: of the text, more than 2 x `count` + 5.
        heads: of the attention.
        count: blocks for each block of queries.
        seed: the number of the layer, from 0.

    Returns:
        int32 (heads, blocks - 2, count).
    """
    random = np.random.RandomState(seed)
    end = 2 * count + 5
    table = np.zeros((heads, blocks, count), np.int32)
    for row in range(1, blocks):
        barred = {row - 1, row, row + 1, 0, end - 1}
        # Queries of the second block do not see the last but one, nor the other way round.
        barred |= {end - 2} if row == 1 else {1} if row == end - 2 else set()
        for head in range(heads if count else 0):
            drawn = random.permutation(np.arange(end, dtype=np.int32))
            table[head, row] = [block for block in drawn if block not in barred][:count]
    return table[:, 1:-1]


@functools.lru_cache(maxsize=64)
def draw_known(most: int, size: int, heads: int, count: int, seed: int) -> Array:
    """Blocks for one of `KNOWN_LENGTHS`, from those within the first 1024 tokens.

    Args:
        most: tokens that the model can take, whose table it is: that of a shorter text are its first rows.
        size: of a block.
        heads: of the attention.
        count: blocks for each block of queries.
        seed: the number of the layer, from 0.

    Returns:
        int32 (heads, most // size - 2, count).

    Raises:
        ValueError: the blocks are so large that there are not as many to draw from.
    """
    random = np.random.RandomState(seed)
    blocks = most // size
    middle = np.arange(1, blocks - 1, dtype=np.int32)
    last = _KNOWN_END // size - 1 if 2 * size < _KNOWN_END else blocks - 1
    tables = [_draw_table(random, middle, blocks, last, count, size) for _ in range(heads)]
    return np.stack(tables)


def _draw_table(random: Any, middle: Array, blocks: int, last: int, count: int, size: int) -> Array:
    """(blocks - 2, count) of one head."""
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
        rule = f"leave {count} blocks to draw from in the first {_KNOWN_END} tokens"
        check("BlockSparse", "block_size", len(allowed) >= count, rule, size)
        table[row - 1] = random.permutation(allowed)[:count]
    return table
