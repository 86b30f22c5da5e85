"""Tokens in blocks of one size: what attention needs that takes as much time and memory a token, however long the text.

Nothing is looked up by its place: texts are padded, cut and put side by side, which every runtime does fast.
"""

from typing import Any

from keras import ops


def fill_up(x: Any, size: int, value: float = 0.0) -> Any:
    """(batch, heads, length, width) -> the same with `value` behind it, so that its length is a multiple of `size`."""
    length = ops.shape(x)[2]
    # Of numbers above 0 alone: tf2onnx rounds the quotient of others towards 0.
    missing = (size - length % size) % size
    if isinstance(missing, int):
        return ops.pad(x, ((0, 0), (0, 0), (0, missing), (0, 0)), constant_values=value) if missing else x
    longer = ops.pad(x, ((0, 0), (0, 0), (0, size), (0, 0)), constant_values=value)
    return longer[:, :, : length + missing]


def to_blocks(x: Any, size: int) -> Any:
    """(batch, heads, blocks x size, width) -> (batch, heads, blocks, size, width)."""
    shape = ops.shape(x)
    return ops.reshape(x, (shape[0], shape[1], -1, size, shape[3]))


def side_by_side(blocks: Any) -> Any:
    """(batch, heads, blocks, size, width) -> each block between its neighbours.

    Returns:
        (batch, heads, blocks - 2, 3 x size, width): the first block and the last are neighbours alone.
    """
    return ops.concatenate([blocks[:, :, :-2], blocks[:, :, 1:-1], blocks[:, :, 2:]], axis=3)


def join_blocks(blocks: Any) -> Any:
    """(batch, heads, blocks, size, width) -> (batch, heads, blocks x size, width)."""
    shape = ops.shape(blocks)
    return ops.reshape(blocks, (shape[0], shape[1], -1, shape[4]))


def turned(x: Any) -> Any:
    """(batch, heads, blocks, size, width) -> (batch, heads, blocks, width, size)."""
    return ops.transpose(x, (0, 1, 2, 4, 3))
