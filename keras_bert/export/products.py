"""Replaces negations and squares in `.tflite` files by products: these can be quantized, and more accurately."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.lite_writer import LiteGraphWriter
from keras_bert.export.rules.lite_graphs import builtin_number
from keras_bert.export.sharing import write_model

_Kind = schema.BuiltinOperator
_Options = schema.BuiltinOptions
_SQUARES = (_Kind.SQUARE, _Kind.SQUARED_DIFFERENCE)
_REDUCTIONS = (_Kind.MEAN, _Kind.SUM)


def replace_with_products(content: bytes) -> bytes:
    """Replaces `NEG` and `SQUARE` in a float `.tflite` file by products, and sums of squares by products of rows.

    Negation becomes a product with -1, and a square a product with itself. Sums and means of squares along the last
    axis, as in each LayerNorm, become products of each row with itself. In the variance of a row with one value of 195
    among values of 1, an int8 grid for the squares has steps of 150, which rounds all other squares to 0; a product
    sums in 32 bits. The file has fixed shapes and all data inside the model.
    """
    model = schema.ModelT.InitFromPackedBuf(content)
    if not {_Kind.NEG, *_SQUARES}.intersection(map(builtin_number, model.operatorCodes)):
        return content
    for graph in model.subgraphs:
        _ProductPass(model, graph).replace()
    return write_model(model)


class _ProductPass(LiteGraphWriter):
    """Replaces negations and squares of a graph."""

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
        count, width = int(np.prod(shape[:-1])), shape[-1]
        # The tensor of the squares gets other values: calibration fails at a tensor that no operation computes.
        if self._kind(square) == _Kind.SQUARED_DIFFERENCE:
            rows = square.outputs[0]
            yield self._operation(_Kind.SUB, square.inputs, rows, _Options.SubOptions, schema.SubOptionsT())
            flat = self._tensor(name, "rows", (count, 1, width))
        else:
            flat = square.outputs[0]
            self._graph.tensors[flat].shape = np.array((count, 1, width), np.int32)
        product = self._tensor(name, "product", (count, 1, 1))
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
