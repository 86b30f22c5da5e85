"""Which operations read an input of a graph."""

from collections.abc import Iterator, Sequence


def find_reachable_operations(
    start: str, makers: Sequence[tuple[str, Sequence[str], Sequence[str]]], through: frozenset[str]
) -> Iterator[int]:
    """The operations that take what an input becomes, as numbers.

    Args:
        start: the input.
        makers: of each operation, in the order in which they run, its kind, what it takes and what it makes.
        through: kinds of operations whose results count as the input, too.

    Examples:
        >>> makers = [("Cast", ["ids"], ["cast"]), ("Gather", ["cast"], ["vectors"]), ("Add", ["vectors"], ["sum"])]
        >>> list(find_reachable_operations("ids", makers, through=frozenset(["Cast"])))
        [0, 1]
    """
    reachable = {start}
    for number, (kind, taken, made) in enumerate(makers):
        if reachable & set(taken):
            yield number
            if kind in through:
                reachable |= set(made)
