"""A map from UTF-8 sequences to numbers as a double-array trie, in the layout of Darts-clone.

The trie is an array of units, one for each node. Bits 0-7 of a unit are the label of the edge that leads to its node,
and bit 8 says whether the node has a value. The bits from 10 on, XORed with the index of the unit, are the base of its
children: the child with label `c` is the unit at `base ^ c`. The value is the unit at `base`, with bit 31 set
(github.com/s-yata/darts-clone; tensorflow-text reads it with its `DartsCloneTrieWrapper`).
"""

import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

# (label, number of the child), ascending; for the label `_VALUE` the value itself.
Edges = tuple[tuple[int, int], ...]
Node = dict[int, Any]

_BLOCK = 256
_VALUE = 0  # no key holds the byte 0
_IS_VALUE = 1 << 31
_HAS_VALUE = 1 << 8
_BASE_BIT = 10
_CONTINUATIONS = range(0x80, 0xC0)


def build_double_array(
    values: Mapping[bytes, int], blocks: Mapping[bytes, int] = MappingProxyType({})
) -> NDArray[np.uint32]:
    """The units of a trie over the keys; equal subtrees are stored once.

    Args:
        values: key -> value from 0 to 2^31 - 1. A key is a complete or truncated UTF-8 sequence: all bytes after the
            first are continuation bytes, 80 to BF.
        blocks: key -> common value of the 64 keys that are one continuation byte longer, without the key itself.
    """
    numbers: dict[Edges, int] = {}
    # The keys as nested dictionaries, byte -> node.
    nested: Node = {}
    for key, value in values.items():
        _find(nested, key)[_VALUE] = value
    # All keys of blocks with the same value share their last node.
    ends: dict[int, Node] = {value: {_VALUE: value} for value in blocks.values()}
    for key, value in blocks.items():
        _find(nested, key).update(dict.fromkeys(_CONTINUATIONS, ends[value]))
    root = _intern(nested, numbers, {})
    nodes = list(numbers)
    bases = _place(nodes, root)
    units = np.zeros((max(bases) // _BLOCK + 1) * _BLOCK, np.uint32)
    for edges, base in zip(nodes, bases, strict=True):
        for label, child in edges:
            index = base ^ label
            if label == _VALUE:
                units[index] = child | _IS_VALUE
            else:
                has_value = _HAS_VALUE if nodes[child][0][0] == _VALUE else 0
                units[index] = label | has_value | (index ^ bases[child]) << _BASE_BIT
    return units


def _find(node: Node, key: bytes) -> Node:
    for byte in key:
        node = node.setdefault(byte, {})
    return node


def _intern(node: Node, numbers: dict[Edges, int], memo: dict[int, int]) -> int:
    """Returns the number of a node; equal nodes have the same number.

    `numbers` has the numbers of the nodes so far by their edges, `memo` by the `id` of the dictionary.
    """
    number = memo.get(id(node))
    if number is None:
        edges = sorted(
            (label, child if label == _VALUE else _intern(child, numbers, memo)) for label, child in node.items()
        )
        number = memo[id(node)] = numbers.setdefault(tuple(edges), len(numbers))
    return number


def _place(nodes: list[Edges], root: int) -> list[int]:
    """Chooses the base of each node so that no two edges share a unit.

    Block 0 belongs to the root; its unit is the first one, and its base is 0. In every further block the upper half
    holds the continuation bytes of two nodes, with the bases 0 and 64, and the lower half holds values.
    """
    inner = (block * _BLOCK + half for block in itertools.count(1) for half in (0, 64))
    leaves = (block * _BLOCK + place for block in itertools.count(1) for place in range(128) if place % 64)
    return [
        0 if number == root else next(leaves if edges[-1][0] == _VALUE else inner) for number, edges in enumerate(nodes)
    ]
