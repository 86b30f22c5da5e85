"""The operations and tensors of a `.tflite` file, by name."""

import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ai_edge_litert import schema_py_generated as schema


class Tensor(NamedTuple):
    """A tensor of a graph. In its shape, -1 is any size; `step` is the quantization scale, if there is exactly one."""

    name: str
    type: str
    shape: tuple[int, ...]
    step: float | None
    constant: bool = False


class Operation(NamedTuple):
    """An operation of a graph.

    Attributes:
        place: the index of the operation and the index of its graph, for messages.
        kind: the kind, such as `FULLY_CONNECTED`; for a custom operation its custom name.
        inputs: the indices of the input tensors, without absent optional inputs.
    """

    place: str
    kind: str
    built_in: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class LiteGraph(NamedTuple):
    """A graph of a signature, by whose names tensors are inputs, or a graph without inputs that another graph calls."""

    tensors: list[Tensor]
    operations: list[Operation]
    inputs: dict[str, int]


def read_graphs(path: str | os.PathLike[str]) -> list[LiteGraph]:
    """Reads all graphs of a `.tflite` file."""
    content = Path(path).read_bytes()
    if not schema.Model.ModelBufferHasIdentifier(content, 0):
        raise ValueError(f"{path} must be a .tflite file, got other bytes")
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(content, 0))
    filled = [buffer.data is not None or buffer.offset > 1 for buffer in model.buffers]
    kinds = [_kind(code) for code in model.operatorCodes]
    inputs: dict[int, dict[str, int]] = {
        signature.subgraphIndex: {given.name.decode(): given.tensorIndex for given in signature.inputs}
        for signature in model.signatureDefs or ()
    }
    return [
        LiteGraph(
            [_tensor(tensor, filled[tensor.buffer]) for tensor in graph.tensors],
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

    Only the first signature is counted: all signatures of a file have the same operations.
    """
    graph = read_graphs(path)[0]
    counts = Counter(f"{operation.kind} {graph.tensors[operation.outputs[0]].type}" for operation in graph.operations)
    return dict(sorted(counts.items()))


def builtin_number(code: Any) -> int:
    """Returns the number of an operation in LiteRT's schema; older files have it in another field."""
    return int(max(code.builtinCode, code.deprecatedBuiltinCode))


def _kind(code: Any) -> tuple[str, bool]:
    number = builtin_number(code)
    if code.customCode or number == schema.BuiltinOperator.CUSTOM:
        return (code.customCode or b"CUSTOM").decode(), False
    return _OPERATORS[number], True


def _operation(place: str, operation: Any, kind: str, built_in: bool) -> Operation:
    # -1 is an absent optional input.
    inputs = tuple(int(index) for index in operation.inputs if index >= 0)
    return Operation(place, kind, built_in, inputs, tuple(int(index) for index in operation.outputs))


def _tensor(tensor: Any, constant: bool) -> Tensor:
    grid = tensor.quantization
    alone = grid is not None and grid.scale is not None and len(grid.scale) == 1
    # An unknown size is 1 in the shape, and -1 in the shape signature.
    shape = tensor.shape if tensor.shapeSignature is None else tensor.shapeSignature
    return Tensor(
        tensor.name.decode(),
        _TYPES[tensor.type].lower(),
        () if shape is None else tuple(int(size) for size in shape),
        float(grid.scale[0]) if alone else None,
        constant,
    )


def _names(constants: type) -> dict[int, str]:
    return {value: name for name, value in vars(constants).items() if isinstance(value, int)}


_OPERATORS, _TYPES = _names(schema.BuiltinOperator), _names(schema.TensorType)
