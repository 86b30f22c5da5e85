"""Writes operations, tensors and constants into a graph of a `.tflite` file."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.rules.lite_graphs import builtin_number

_Kind = schema.BuiltinOperator
_Options = schema.BuiltinOptions
_TYPES = {
    np.dtype(np.float32): schema.TensorType.FLOAT32,
    np.dtype(np.int32): schema.TensorType.INT32,
    np.dtype(np.int8): schema.TensorType.INT8,
}
# The number of an optional input that an operation does not have.
_ABSENT = -1


class LiteGraphWriter:
    """The base class of what rewrites the operations of a `SubGraphT` of a `ModelT` with all data inside."""

    def __init__(self, model: Any, graph: Any) -> None:
        self._model = model
        self._graph = graph

    def _remove_unused_tensors(self) -> None:
        """Removes tensors that no operation reads or writes: ai-edge-quantizer reads all of them."""
        graph = self._graph
        users = [*graph.operators, graph]
        used = {int(number) for user in users for numbers in (user.inputs, user.outputs) for number in numbers}
        places = {number: place for place, number in enumerate(sorted(used - {_ABSENT}))} | {_ABSENT: _ABSENT}
        graph.tensors = [graph.tensors[number] for number in sorted(used - {_ABSENT})]
        for user in users:
            user.inputs, user.outputs = (
                np.array([places[int(number)] for number in numbers], np.int32)
                for numbers in (user.inputs, user.outputs)
            )
        for signature in self._model.signatureDefs or ():
            if self._model.subgraphs[signature.subgraphIndex] is graph:
                for tensor in (*signature.inputs, *signature.outputs):
                    tensor.tensorIndex = places[tensor.tensorIndex]

    def _reshaped(self, given: int, result: int, name: bytes) -> Any:
        options = schema.ReshapeOptionsT()
        options.newShape = np.array(self._shape(result), np.int32)
        shape = self._constant(name, "shape", options.newShape)
        return self._operation(_Kind.RESHAPE, (given, shape), result, _Options.ReshapeOptions, options)

    def _operation(self, kind: int, inputs: Sequence[int], output: int, options_type: int, options: Any) -> Any:
        made = schema.OperatorT()
        made.opcodeIndex = self._code(kind)
        made.inputs, made.outputs = np.array(inputs, np.int32), np.array([output], np.int32)
        made.builtinOptionsType, made.builtinOptions = options_type, options
        return made

    def _code(self, kind: int) -> int:
        """Returns the number of a kind in the file's table of operators, added if it is not there."""
        for number, code in enumerate(self._model.operatorCodes):
            if builtin_number(code) == kind:
                return number
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = kind
        self._model.operatorCodes.append(code)
        return len(self._model.operatorCodes) - 1

    def _constant(self, name: bytes, part: str, values: Any) -> int:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(values.tobytes(), np.uint8)
        self._model.buffers.append(buffer)
        return self._tensor(name, part, values.shape, _TYPES[values.dtype], len(self._model.buffers) - 1)

    def _tensor(
        self, name: bytes, part: str, shape: Sequence[int], kind: int = schema.TensorType.FLOAT32, buffer: int = 0
    ) -> int:
        """Adds a tensor with a unique name that contains its layer; returns its number."""
        made = schema.TensorT()
        made.name = name + f"/{part}_{len(self._graph.tensors)}".encode()
        made.shape, made.type, made.buffer = np.array(shape, np.int32), kind, buffer
        self._graph.tensors.append(made)
        return len(self._graph.tensors) - 1

    def _like(self, tensor: int, name: bytes, part: str, shape: Sequence[int]) -> int:
        """Adds a tensor with the type and the quantization grid of another; returns its number."""
        model = self._graph.tensors[tensor]
        made = self._tensor(name, part, shape, model.type)
        self._graph.tensors[made].quantization = model.quantization
        return made

    def _kind(self, operation: Any) -> int:
        return builtin_number(self._model.operatorCodes[operation.opcodeIndex])

    def _shape(self, tensor: int) -> tuple[int, ...]:
        shape = self._graph.tensors[tensor].shape
        return () if shape is None else tuple(map(int, shape))

    def _whole_numbers(self, tensor: int) -> tuple[int, ...]:
        """Returns the values of an int32 constant; an empty tuple for other tensors."""
        data = self._model.buffers[self._graph.tensors[tensor].buffer].data
        return () if data is None else tuple(np.asarray(data, np.uint8).view(np.int32).tolist())
