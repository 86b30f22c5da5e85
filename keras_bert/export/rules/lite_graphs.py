"""The operations and tensors of a `.tflite` file, by name."""

import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ai_edge_litert import schema_py_generated as schema


class Tensor(NamedTuple):
    """A tensor of a graph.

    Attributes:
        name: within the graph.
        type: as `int8`.
        shape: its axes; -1 where any size will do.
        step: of a tensor of integers that all lie on one grid, the distance of two of them; else None.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    step: float | None


class Operation(NamedTuple):
    """An operation of a graph.

    Attributes:
        place: its number within the graph, and the graph's.
        kind: as `FULLY_CONNECTED`; the own name of one that is not built into LiteRT.
        built_in: whether it is.
        inputs: numbers of tensors, those left out are not among them.
        outputs: numbers of tensors.
    """

    place: str
    kind: str
    built_in: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class LiteGraph(NamedTuple):
    """One graph of the file: that of a signature, or one that another graph runs.

    Attributes:
        tensors: by number.
        operations: in the order in which they run.
        inputs: name in the signature -> number of a tensor; empty where no signature runs it.
    """

    tensors: list[Tensor]
    operations: list[Operation]
    inputs: dict[str, int]


def read_graphs(path: str | os.PathLike[str]) -> list[LiteGraph]:
    """All graphs of a `.tflite` file."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(Path(path).read_bytes(), 0))
    kinds = [_kind(code) for code in model.operatorCodes]
    inputs: dict[int, dict[str, int]] = {
        signature.subgraphIndex: {given.name.decode(): given.tensorIndex for given in signature.inputs}
        for signature in model.signatureDefs or ()
    }
    return [
        LiteGraph(
            [_tensor(tensor) for tensor in graph.tensors],
            [
                _operation(f"operation {place} of graph {number}", operation, *kinds[operation.opcodeIndex])
                for place, operation in enumerate(graph.operators)
            ],
            inputs.get(number, {}),
        )
        for number, graph in enumerate(model.subgraphs)
    ]


def count_operations(path: str | os.PathLike[str]) -> dict[str, int]:
    """Counts the operations of a `.tflite` file by name and type of result: `{"FULLY_CONNECTED int8": 14, ...}`.

    The signatures of one file hold the same operations: only the first is counted.
    """
    graph = read_graphs(path)[0]
    counts = Counter(f"{operation.kind} {graph.tensors[operation.outputs[0]].type}" for operation in graph.operations)
    return dict(sorted(counts.items()))


def builtin_number(code: Any) -> int:
    """The number of an operation in LiteRT's schema, which older files hold in another field."""
    return int(max(code.builtinCode, code.deprecatedBuiltinCode))


def _kind(code: Any) -> tuple[str, bool]:
    number = builtin_number(code)
    if code.customCode or number == schema.BuiltinOperator.CUSTOM:
        return (code.customCode or b"CUSTOM").decode(), False
    return _OPERATORS[number], True


def _operation(place: str, operation: Any, kind: str, built_in: bool) -> Operation:
    # -1 stands for an input that was left out.
    inputs = tuple(int(index) for index in operation.inputs if index >= 0)
    return Operation(place, kind, built_in, inputs, tuple(int(index) for index in operation.outputs))


def _tensor(tensor: Any) -> Tensor:
    grid = tensor.quantization
    alone = grid is not None and grid.scale is not None and len(grid.scale) == 1
    # Where some sizes are not known, the shape has 1 in their places, and the signature of the shape -1.
    shape = tensor.shape if tensor.shapeSignature is None else tensor.shapeSignature
    return Tensor(
        tensor.name.decode(),
        _TYPES[tensor.type].lower(),
        () if shape is None else tuple(int(size) for size in shape),
        float(grid.scale[0]) if alone else None,
    )


def _names(constants: type) -> dict[int, str]:
    return {value: name for name, value in vars(constants).items() if isinstance(value, int)}


_OPERATORS, _TYPES = _names(schema.BuiltinOperator), _names(schema.TensorType)
