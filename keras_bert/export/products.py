"""Replaces squares in `.tflite` files by products: these can be quantized, and more accurately."""

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
    """Replaces `SQUARE` in a float `.tflite` file by products, and sums of squares by products of rows.

    A square becomes a product of a value with itself. Sums and means of squares along the last axis, as in each
    LayerNorm, become products of each row with itself. In the variance of a row with one value of 195
    among values of 1, an int8 grid for the squares has steps of 150, which rounds all other squares to 0; a product
    sums in 32 bits. The file has fixed shapes and all data inside the model.
    """
    model = schema.ModelT.InitFromPackedBuf(content)
    if not set(_SQUARES).intersection(map(builtin_number, model.operatorCodes)):
        return content
    for graph in model.subgraphs:
        _ProductPass(model, graph).replace()
    return write_model(model)


class _ProductPass(LiteGraphWriter):
    def replace(self) -> None:
        squares = self._summed_squares()
        left_out = {id(square) for square in squares.values()}
        made: list[Any] = []
        for number, operation in enumerate(self._graph.operators):
            if number in squares:
                made += self._summed(squares[number], operation)
            elif self._kind(operation) == _Kind.SQUARE and id(operation) not in left_out:
                made.append(self._product(operation.inputs[0], operation.inputs[0], operation.outputs[0]))
            elif id(operation) not in left_out:
                made.append(operation)
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
        other = flat
        if count == 1:
            # LiteRT's GPU engine stops at a product of a single row that reads one tensor twice.
            other = self._like(flat, name, "row", (1, 1, width))
            yield self._reshaped(rows, other, name)
        by_rows = schema.BatchMatMulOptionsT()
        by_rows.adjY = True
        yield self._operation(_Kind.BATCH_MATMUL, (flat, other), product, _Options.BatchMatMulOptions, by_rows)
        if self._kind(reduction) == _Kind.SUM:
            yield self._reshaped(product, total, name)
            return
        summed = self._tensor(name, "sum", self._shape(total))
        yield self._reshaped(product, summed, name)
        yield self._product(summed, self._constant(name, "share", np.array([1 / width], np.float32)), total)

    def _product(self, one: int, other: int, result: int) -> Any:
        return self._operation(_Kind.MUL, (one, other), result, _Options.MulOptions, schema.MulOptionsT())
