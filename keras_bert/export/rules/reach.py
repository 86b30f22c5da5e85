"""Finds the operations that use an input of a graph."""

from collections.abc import Iterator, Sequence


def find_reachable_operations(
    start: str, operations: Sequence[tuple[str, Sequence[str], Sequence[str]]], through: frozenset[str]
) -> Iterator[int]:
    """Yields the indices of the operations that use an input, directly or through other operations.

    Args:
        start: the name of the input.
        operations: the kind, the inputs and the outputs of each operation, in the order in which they run.
        through: the kinds of operations that are followed: operations that use their outputs are found, too.
    """
    reachable = {start}
    for number, (kind, inputs, outputs) in enumerate(operations):
        if reachable & set(inputs):
            yield number
            if kind in through:
                reachable |= set(outputs)
