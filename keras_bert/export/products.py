"""Replaces negations and squares in `.tflite` files by products: these can be quantized, and more accurately."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.rules.lite_graphs import builtin_number
from keras_bert.export.sharing import write_model

_Kind = schema.BuiltinOperator
_Options = schema.BuiltinOptions
_SQUARES = (_Kind.SQUARE, _Kind.SQUARED_DIFFERENCE)
_REDUCTIONS = (_Kind.MEAN, _Kind.SUM)


def replace_with_products(content: bytes) -> bytes:
    """Replaces `NEG` and `SQUARE` in a `.tflite` file by products, and sums of squares by products of rows.

    Negation becomes a product with -1, and a square a product with itself. Sums and means of squares along the last
    axis, as in each LayerNorm, become products of each row with itself. In the variance of a row with one value of 195
    among values of 1, an int8 grid for the squares has steps of 150, which rounds all other squares to 0; a product
    sums in 32 bits.

    Args:
        content: the bytes of a float `.tflite` file with fixed shapes, with all data inside the model.
    """
    model = schema.ModelT.InitFromPackedBuf(content)
    if not {_Kind.NEG, *_SQUARES}.intersection(map(builtin_number, model.operatorCodes)):
        return content
    for graph in model.subgraphs:
        _Writer(model, graph).replace()
    return write_model(model)


class _Writer:
    """Rewrites the operations of a graph."""

    def __init__(self, model: Any, graph: Any) -> None:
        self._model = model
        self._graph = graph

    def replace(self) -> None:
        """Replaces all negations, squares and sums of squares."""
        squares = self._summed_squares()
        left_out = {id(square) for square in squares.values()}
        made: list[Any] = []
        for number, operation in enumerate(self._graph.operators):
            if number in squares:
                made += self._summed(squares[number], operation)
            elif id(operation) not in left_out:
                made += self._multiplied(operation)
        self._graph.operators = made

    def _summed_squares(self) -> dict[int, Any]:
        """Finds sums of squares along the last axis: the number of each -> the operation that makes its squares."""
        operations = self._graph.operators
        makers = {operation.outputs[0]: operation for operation in operations}
        readers = Counter(tensor for operation in operations for tensor in operation.inputs)
        squares = {}
        for number, reduction in enumerate(operations):
            square = makers.get(reduction.inputs[0]) if self._kind(reduction) in _REDUCTIONS else None
            if square is None or self._kind(square) not in _SQUARES or readers[square.outputs[0]] > 1:
                continue
            last = len(self._shape(square.outputs[0])) - 1
            if self._whole_numbers(reduction.inputs[1]) in ((last,), (-1,)):
                squares[number] = square
        return squares

    def _summed(self, square: Any, reduction: Any) -> Iterator[Any]:
        """Yields a product of each row with itself, in the place of its squares and their sum or mean."""
        rows, total = square.inputs[0], reduction.outputs[0]
        shape, name = self._shape(square.outputs[0]), self._graph.tensors[square.outputs[0]].name
        if self._kind(square) == _Kind.SQUARED_DIFFERENCE:
            # The tensor of the squares holds the differences from here on.
            rows = square.outputs[0]
            yield self._operation(_Kind.SUB, square.inputs, rows, _Options.SubOptions, schema.SubOptionsT())
        count, width = int(np.prod(shape[:-1])), shape[-1]
        flat, product = self._tensor(name, "rows", (count, 1, width)), self._tensor(name, "product", (count, 1, 1))
        yield self._reshaped(rows, flat, name)
        by_rows = schema.BatchMatMulOptionsT()
        by_rows.adjY = True
        yield self._operation(_Kind.BATCH_MATMUL, (flat, flat), product, _Options.BatchMatMulOptions, by_rows)
        if self._kind(reduction) == _Kind.SUM:
            yield self._reshaped(product, total, name)
            return
        summed = self._tensor(name, "sum", self._shape(total))
        yield self._reshaped(product, summed, name)
        yield self._product(summed, self._constant(name, "share", np.array([1 / width], np.float32)), total)

    def _multiplied(self, operation: Any) -> Iterator[Any]:
        """Yields an operation, as a product if it is a negation or a square."""
        (factor, *_), (result, *_) = operation.inputs, operation.outputs
        if self._kind(operation) == _Kind.NEG:
            minus_one = self._constant(self._graph.tensors[result].name, "minus_one", np.array([-1.0], np.float32))
            yield self._product(factor, minus_one, result)
        elif self._kind(operation) == _Kind.SQUARE:
            yield self._product(factor, factor, result)
        else:
            yield operation

    def _product(self, one: int, other: int, result: int) -> Any:
        return self._operation(_Kind.MUL, (one, other), result, _Options.MulOptions, schema.MulOptionsT())

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
        kind = schema.TensorType.FLOAT32 if values.dtype == np.float32 else schema.TensorType.INT32
        return self._tensor(name, part, values.shape, kind, len(self._model.buffers) - 1)

    def _tensor(
        self, name: bytes, part: str, shape: Sequence[int], kind: int = schema.TensorType.FLOAT32, buffer: int = 0
    ) -> int:
        """Adds a tensor with a unique name that contains its layer; returns its number."""
        made = schema.TensorT()
        made.name = name + f"/{part}_{len(self._graph.tensors)}".encode()
        made.shape, made.type, made.buffer = np.array(shape, np.int32), kind, buffer
        self._graph.tensors.append(made)
        return len(self._graph.tensors) - 1

    def _kind(self, operation: Any) -> int:
        return builtin_number(self._model.operatorCodes[operation.opcodeIndex])

    def _shape(self, tensor: int) -> tuple[int, ...]:
        shape = self._graph.tensors[tensor].shape
        return () if shape is None else tuple(map(int, shape))

    def _whole_numbers(self, tensor: int) -> tuple[int, ...]:
        """Returns the values of an int32 constant; an empty tuple for other tensors."""
        data = self._model.buffers[self._graph.tensors[tensor].buffer].data
        return () if data is None else tuple(np.asarray(data, np.uint8).view(np.int32).tolist())
