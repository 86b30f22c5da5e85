"""Checks which operations of a `.tflite` file the delegates of phones take, and into how many parts they fall.

Nothing runs: a delegate asks a graph about kinds, versions, types and shapes, and so does this module. A driver may
still refuse what its delegate takes. `delegation` counts the nodes that XNNPACK runs here.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from keras_bert.export.rules.lite_graphs import LiteGraph, Operation, read_graphs
from keras_bert.export.supported_operations import DELEGATES, Delegate, GraphNode


class Coverage(NamedTuple):
    """The operations of a graph that a delegate takes.

    Attributes:
        operations: the number of operations, without those that only unpack float16 weights.
        taken: operation and type of its first operand -> number of operations that the delegate takes.
        left: operation, type and reason -> number of operations that stay on the processor.
        partitions: the number of connected parts that the delegate takes; values are copied between them.
    """

    operations: int
    taken: dict[str, int]
    left: dict[str, int]
    partitions: int


def check_delegates(path: str | os.PathLike[str]) -> dict[str, Coverage]:
    """The coverage by each delegate of a `.tflite` file's first signature; all signatures have the same operations.

    Raises:
        ValueError: the file is not a `.tflite` file.
    """
    graph = read_graphs(path)[0]
    return {delegate.name: cover_graph(graph, delegate) for delegate in DELEGATES}


def cover_graph(graph: LiteGraph, delegate: Delegate) -> Coverage:
    """Checks every operation of a graph against a delegate's list."""
    nodes, taken, left = list(_nodes_of(graph, delegate)), Counter[str](), Counter[str]()
    is_taken = []
    for node in nodes:
        name = f"{node.operation.kind} {(*node.inputs, *node.outputs)[0].type}"
        reason = _reason_to_leave(node, delegate)
        is_taken.append(reason is None)
        if reason is None:
            taken[name] += 1
        else:
            left[f"{name}: {reason}"] += 1
    partitions = count_partitions([node.operation for node in nodes], is_taken)
    return Coverage(len(nodes), dict(sorted(taken.items())), dict(sorted(left.items())), partitions)


def count_partitions(operations: Sequence[Operation], is_taken: Sequence[bool]) -> int:
    """Counts the parts into which LiteRT joins the operations, in the order in which they run, that a delegate takes.

    As LiteRT does it (tflite/graph_info.cc), parts of the delegate and of the processor take turns. Each holds all
    operations of its side whose inputs are there.
    """
    missing = {tensor for operation in operations for tensor in operation.outputs}
    waiting, partitions = list(range(len(operations))), 0
    while waiting:
        # The first operation in order has all its inputs: it decides whose part comes next.
        side, later = is_taken[waiting[0]], []
        for number in waiting:
            if is_taken[number] == side and not missing.intersection(operations[number].inputs):
                missing.difference_update(operations[number].outputs)
            else:
                later.append(number)
        waiting, partitions = later, partitions + side
    return partitions


def _nodes_of(graph: LiteGraph, delegate: Delegate) -> Iterator[GraphNode]:
    """Yields the operations with their tensors; unpacked float16 constants count as constants, as in delegates."""
    tensors = list(graph.tensors)
    for operation in graph.operations:
        inputs = tuple(tensors[index] for index in operation.inputs)
        outputs = tuple(tensors[index] for index in operation.outputs)
        if operation.kind == "DEQUANTIZE" and inputs[0].constant and inputs[0].type == "float16":
            weights = inputs[0] if delegate.reads_float16 else outputs[0]._replace(constant=True)
            tensors[operation.outputs[0]] = weights
        else:
            yield GraphNode(operation, inputs, outputs)


def _reason_to_leave(node: GraphNode, delegate: Delegate) -> str | None:
    operation = node.operation
    if not operation.built_in or operation.kind not in delegate.supports:
        return "not on the list"
    support = delegate.supports[operation.kind]
    if operation.version > support.version:
        return f"version must be at most {support.version}, got {operation.version}"
    others = {tensor.type for tensor in delegate.typed_inputs(node)} - support.types
    if others:
        return f"it takes no {_join(others)} inputs"
    results = {tensor.type for tensor in node.outputs}
    if support.results is not None and not results <= support.results:
        return f"it gives no {_join(results - support.results)} results"
    return support.check(node)


def _join(types: Set[str]) -> str:
    return " or ".join(sorted(types))
