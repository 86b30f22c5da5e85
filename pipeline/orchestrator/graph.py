"""A pipeline: the nodes behind its outputs, in execution order."""

import graphlib
from collections.abc import Iterator, Sequence

from components.dsl.artifact import Artifact
from components.dsl.component import Handle, Node


class Pipeline:
    """The nodes behind output nodes, in topological order.

    Nodes run level by level, nodes without inputs first, so that errors in the user's data show before long steps run.
    """

    def __init__(self, name: str, outputs: Sequence[Node]) -> None:
        if not outputs:
            raise ValueError(f"Pipeline.outputs must name at least one node, got none for {name!r}")
        self.name = name
        sorter: graphlib.TopologicalSorter[Node] = graphlib.TopologicalSorter()
        visited: set[int] = set()
        pending = list(reversed(outputs))
        while pending:
            node = pending.pop()
            if id(node) in visited:
                continue
            visited.add(id(node))
            sources = [handle.node for handle in sources_of(node)]
            sorter.add(node, *sources)
            pending.extend(reversed(sources))
        try:
            self.nodes = tuple(sorter.static_order())
        except graphlib.CycleError as error:
            circle = " -> ".join(node.name for node in error.args[1])
            raise ValueError(f"Pipeline.outputs must not depend on themselves, got {circle}") from None
        names: set[str] = set()
        for node in self.nodes:
            if node.name in names:
                raise ValueError(
                    f"node names must be unique in pipeline {name!r}, got {node.name!r} twice; "
                    f"name one of them: node.name = '{node.name}_again'"
                )
            names.add(node.name)

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}, {len(self.nodes)} nodes)"


def sources_of(node: Node) -> Iterator[Handle[Artifact]]:
    """The outputs of other nodes that a node reads, in the order of its inputs."""
    for handle in node.slots().values():
        if handle is not None:
            yield handle
