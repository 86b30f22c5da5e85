"""Serializes many `tf.train.Example`s of whole numbers at once in NumPy, without a Python call for each row.

An example of whole numbers consists of varints alone: tags, lengths and the letters of ASCII names are below 128, hence
varints of one byte. A batch is therefore one table of bytes with a row for each example; the bytes that are present,
read row by row, are the examples. (Protocol Buffers encoding, "Base 128 Varints"; tensorflow/core/example/example.proto
and feature.proto.)
"""

import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Field number << 3 | 2 (length-delimited): Example.features, Features.feature, the entry's key and value,
# Feature.int64_list, Int64List.value.
_FEATURES = _FEATURE = _KEY = _VALUES = 0x0A
_VALUE = 0x12
_INT64_LIST = 0x1A
# Token ids are looked up: BERT's largest vocabulary, multilingual-cased, has 119,547 tokens.
_KNOWN = 1 << 17
# The least number of values for which it pays to build the table, which takes some milliseconds.
_MANY = 1 << 14


class Column(NamedTuple):
    """A feature: whole numbers from 0 to 2^28 - 1 (rows, width), and how many of each row are not padding (rows,)."""

    values: NDArray[np.integer]
    counts: NDArray[np.integer]


class Block(NamedTuple):
    """Columns of the table of bytes (rows, width) uint8, and whether a row has each byte (rows, width)."""

    content: NDArray[np.uint8]
    present: NDArray[np.bool_]


def serialize_rows(columns: Mapping[str, Column]) -> list[bytes]:
    """One `tf.train.Example` for each row, with the same bytes as `serialize` gives.

    Names are ASCII of less than 128 letters; none begins with another one, as protobuf orders such names otherwise.
    """
    rows = len(next(iter(columns.values())).counts)
    blocks: list[Block] = []
    total = np.zeros(rows, np.int64)
    for name in sorted(columns):
        values, counts = columns[name]
        inside = np.arange(values.shape[1]) < counts[:, None]
        if values.size and not 0 <= values.min() <= values.max() < 2**28:
            wrong = values[inside & ((values < 0) | (values >= 2**28))]
            if len(wrong):
                raise ValueError(f"serialize_rows columns[{name!r}] must be from 0 to 2^28 - 1, got {wrong[0]}")
        payload = _varints(values, inside)
        header, size = _header(name, payload.present.sum(axis=1, dtype=np.int64))
        blocks += [*header, payload]
        total += size
    blocks = [_constant(rows, [_FEATURES]), _length(total), *blocks]
    content = np.concatenate([block.content for block in blocks], axis=1)
    data = bytes(content[np.concatenate([block.present for block in blocks], axis=1)])
    ends = np.cumsum(1 + _sizes(total) + total).tolist()
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _header(name: str, payload: NDArray[np.int64]) -> tuple[list[Block], NDArray[np.int64]]:
    """The bytes in front of a feature's values, and the number of bytes of the whole entry, its tag included.

    A feature without values has an empty list, without a length.
    """
    rows = len(payload)
    values = np.where(payload > 0, 1 + _sizes(payload) + payload, 0)
    feature = 1 + _sizes(values) + values
    entry = 2 + len(name) + 1 + _sizes(feature) + feature
    key = _constant(rows, [_KEY, len(name), *name.encode("ascii"), _VALUE])
    blocks = [_constant(rows, [_FEATURE]), _length(entry), key, _length(feature)]
    blocks += [_constant(rows, [_INT64_LIST]), _length(values)]
    blocks += [_only(_constant(rows, [_VALUES]), payload), _only(_length(payload), payload)]
    return blocks, 1 + _sizes(entry) + entry


def _constant(rows: int, letters: list[int]) -> Block:
    shape = rows, len(letters)
    return Block(np.broadcast_to(np.array(letters, np.uint8), shape), np.broadcast_to(True, shape))


def _length(numbers: NDArray[np.int64]) -> Block:
    return _varints(numbers[:, None], np.broadcast_to(True, (len(numbers), 1)))


def _only(block: Block, counts: NDArray[np.int64]) -> Block:
    return block._replace(present=block.present & (counts > 0)[:, None])


def _sizes(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.searchsorted([1 << 7, 1 << 14, 1 << 21], numbers, side="right") + 1


def _varints(numbers: NDArray[np.integer], present: NDArray[np.bool_]) -> Block:
    """The varints of the numbers (rows, width) that are present."""
    largest = int(numbers.max(initial=0))
    if largest < 1 << 7:
        return Block(numbers.astype(np.uint8), present)
    if largest >= _KNOWN or numbers.size < _MANY:
        return _make_varints(numbers, present, 2 if largest < 1 << 14 else 4)
    content, keep = _known_varints()
    # Padding is not present; there the lookup may return any entry.
    words, kept = content.take(numbers, mode="clip"), keep.take(numbers, mode="clip")
    kept *= present
    shape = len(numbers), -1
    return Block(words.view(np.uint8).reshape(shape), kept.view(np.bool_).reshape(shape))


@functools.cache
def _known_varints() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The varints of all numbers below `_KNOWN` as words of four bytes, and which of the bytes there are."""
    numbers = np.arange(_KNOWN)[None]
    made = _make_varints(numbers, np.broadcast_to(True, numbers.shape), 4)
    return made.content.view(np.uint32)[0], made.present.view(np.uint32)[0]


def _make_varints(numbers: NDArray[np.integer], present: NDArray[np.bool_], width: int) -> Block:
    """The varints of the numbers (rows, width) that are present, in 2 or 4 bytes each."""
    # Little-endian words, so that the first byte of a varint is the first in memory.
    words = numbers.astype("<u2" if width == 2 else "<u4")
    content, keep = words & 0x7F, np.empty((*words.shape, width), bool)
    keep[..., 0] = present
    for place in range(1, width):
        # Each byte has seven bits of the number; the eighth bit is set if another byte follows.
        follows = words >= 1 << (7 * place)
        content |= ((words >> (7 * place)) & 0x7F) << (8 * place)
        content |= follows.astype(words.dtype) << (8 * place - 1)
        keep[..., place] = present & follows
    shape = len(words), -1
    return Block(content.view(np.uint8).reshape(shape), keep.reshape(shape))
