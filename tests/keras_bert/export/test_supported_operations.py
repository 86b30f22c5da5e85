"""The lists of delegates: operations that are taken or left for reasons that are known by heart."""

import pytest

from keras_bert.export.delegates import cover_graph
from keras_bert.export.rules.lite_graphs import LiteGraph, Operation, Tensor
from keras_bert.export.supported_operations import DELEGATES


def graph_of(kind: str, inputs: list[Tensor], output: Tensor, *, built_in: bool = True, **options: object) -> LiteGraph:
    version = options.pop("version", 1)
    places = tuple(range(len(inputs)))
    operation = Operation("operation 0 of graph 0", kind, built_in, places, (len(inputs),), version, options)
    return LiteGraph([*inputs, output], [operation], {})


def value(type_: str, *shape: int, constant: bool = False, step: float | None = None) -> Tensor:
    return Tensor("values", type_, shape, step, constant)


@pytest.mark.parametrize(
    ("graph", "left"),
    [
        (graph_of("CUMSUM", [value("float32", 1, 8)], value("float32", 1, 8)), ["not on the list"] * 3),
        (graph_of("GELU", [value("float32", 1, 8)], value("float32", 1, 8), built_in=False), ["not on the list"] * 3),
        (graph_of("TANH", [value("float32", 1, 8)], value("float32", 1, 8)), [None] * 3),
        (
            graph_of("TANH", [value("int16", 1, 8)], value("int16", 1, 8)),
            ["it takes no int16 inputs"] * 3,
        ),
        (
            graph_of("TANH", [value("float32", 1, 8)], value("float32", 1, 8), version=3),
            [f"version must be at most {version}, got 3" for version in (2, 2, 1)],
        ),
        (
            graph_of("SOFTMAX", [value("float32", 1, 8)], value("float32", 1, 8), beta=2.0),
            [None, "beta must be 1", "beta must be 1"],
        ),
        (
            graph_of("ADD", [value("float32", 1, 4, 8), value("float32", 4, 1)], value("float32", 1, 4, 8)),
            [None, None, None],
        ),
        (
            graph_of("ADD", [value("float32", 2, 4, 4, 8), value("float32", 1, 4, 1, 8)], value("float32", 2, 4, 4, 8)),
            [None, None, "one shape must fit the other"],
        ),
        (
            graph_of(
                "FULLY_CONNECTED",
                [value("float32", 4, 8), value("float32", 2, 8, constant=True)],
                value("float32", 4, 2),
            ),
            [None, None, "the input must be a single row"],
        ),
        (
            graph_of("BATCH_MATMUL", [value("float32", 2, 4, 8), value("float32", 1, 8, 4)], value("float32", 2, 4, 4)),
            ["factors must have equal batches", None, "not on the list"],
        ),
    ],
)
def test_planted_operations_are_taken_or_left(graph: LiteGraph, left: list[str | None]) -> None:
    for delegate, reason in zip(DELEGATES, left, strict=True):
        coverage = cover_graph(graph, delegate)
        name = f"{graph.operations[0].kind} {graph.tensors[0].type}"
        assert coverage.left == ({} if reason is None else {f"{name}: {reason}": 1}), delegate.name
        assert coverage.taken == ({name: 1} if reason is None else {})
        assert coverage.partitions == (reason is None)
