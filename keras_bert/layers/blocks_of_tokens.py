"""Splits sequences into blocks of tokens, for attention with time and memory that are linear in the length.

It pads, slices and concatenates sequences rather than gathering tokens, because these are fast in every runtime.
"""

from keras import ops

from keras_bert.core.tensors import Tensor


def pad_to_blocks(x: Tensor, size: int, value: float = 0.0) -> Tensor:
    """(batch, heads, length, width) -> the same, padded with `value` to a length that is a multiple of `size`."""
    length = ops.shape(x)[2]
    # No remainder of a negative number: tf2onnx rounds its quotient towards 0.
    missing = (size - length % size) % size
    if isinstance(missing, int):
        return ops.pad(x, ((0, 0), (0, 0), (0, missing), (0, 0)), constant_values=value) if missing else x
    longer = ops.pad(x, ((0, 0), (0, 0), (0, size), (0, 0)), constant_values=value)
    return longer[:, :, : length + missing]


def split_blocks(x: Tensor, size: int) -> Tensor:
    """(batch, heads, blocks x size, width) -> (batch, heads, blocks, size, width)."""
    shape = ops.shape(x)
    return ops.reshape(x, (shape[0], shape[1], -1, size, shape[3]))


def with_neighbours(blocks: Tensor) -> Tensor:
    """Concatenates each block but the first and the last with the previous and the next block.

    (batch, heads, blocks, size, width) -> (batch, heads, blocks - 2, 3 x size, width)
    """
    return ops.concatenate([blocks[:, :, :-2], blocks[:, :, 1:-1], blocks[:, :, 2:]], axis=3)


def join_blocks(blocks: Tensor) -> Tensor:
    """(batch, heads, blocks, size, width) -> (batch, heads, blocks x size, width)."""
    shape = ops.shape(blocks)
    return ops.reshape(blocks, (shape[0], shape[1], -1, shape[4]))


def transpose_blocks(x: Tensor) -> Tensor:
    """(batch, heads, blocks, size, width) -> (batch, heads, blocks, width, size)."""
    return ops.transpose(x, (0, 1, 2, 4, 3))
