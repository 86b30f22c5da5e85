"""Finds the operations that use an input of a graph."""

from collections.abc import Iterator, Sequence


def find_reachable_operations(
    start: str, operations: Sequence[tuple[str, Sequence[str], Sequence[str]]], through: frozenset[str]
) -> Iterator[int]:
    """Yields the indices of operations that use an input, directly or through operations of the kinds `through`.

    Operations have a kind, inputs and outputs, and come in the order in which they run.
    """
    reachable = {start}
    for number, (kind, inputs, outputs) in enumerate(operations):
        if reachable & set(inputs):
            yield number
            if kind in through:
                reachable |= set(outputs)
