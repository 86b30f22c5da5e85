"""A pipeline: the nodes that its outputs need, in the order they run."""

import graphlib
from collections.abc import Iterator, Sequence

from components.dsl.component import Handle, Latest, Node


class Pipeline:
    """The nodes behind some terminal nodes, in a fixed order: every node after the nodes it reads from.

    Nodes run level by level (those that need nothing first), so that what a user got wrong in any of
    their data shows before the long steps begin.

    Attributes:
        name: what runs of this pipeline are recorded under.
        nodes: all nodes, in the order they run.

    Raises:
        ValueError: there are no outputs, two nodes share a name, or nodes depend on each other in a circle.
    """

    def __init__(self, name: str, outputs: Sequence[Node]) -> None:
        if not outputs:
            raise ValueError(f"Pipeline.outputs must name at least one node, got none for {name!r}")
        self.name = name
        self.nodes = _in_order(outputs)
        _check_names(name, self.nodes)

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}, {len(self.nodes)} nodes)"


def sources_of(node: Node) -> Iterator[Handle]:
    """The outputs that must exist before the node can run, in the order of its inputs."""
    for given in node.slots().values():
        if isinstance(given, Latest):
            yield given.besides
        elif given is not None:
            yield given


def _in_order(outputs: Sequence[Node]) -> tuple[Node, ...]:
    sorter: graphlib.TopologicalSorter[Node] = graphlib.TopologicalSorter()
    seen: set[int] = set()
    waiting = list(reversed(outputs))
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        needed = [handle.node for handle in sources_of(node)]
        sorter.add(node, *needed)
        waiting.extend(reversed(needed))
    try:
        return tuple(sorter.static_order())
    except graphlib.CycleError as error:
        circle = " -> ".join(node.name for node in error.args[1])
        raise ValueError(f"Pipeline.outputs must not depend on themselves, got {circle}") from None


def _check_names(pipeline: str, nodes: Sequence[Node]) -> None:
    names: set[str] = set()
    for node in nodes:
        if node.name in names:
            raise ValueError(
                f"node names must be unique in pipeline {pipeline!r}, got {node.name!r} twice; "
                f"name one of them: node.name = '{node.name}_again'"
            )
        names.add(node.name)
