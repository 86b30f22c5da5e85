"""Rewrites patterns of nodes in an ONNX graph to operations for which runtimes have fast kernels."""

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from keras_bert.export.onnx_graphs import OnnxGraphWriter, count_readers, graphs_in

# `LayerNormalization` exists since operator set 17, but with that set tf2onnx writes some means as pooling.
NORMALIZATION_OPSET = 18

_SHARE = float(np.float32(math.sqrt(0.5)))


def fuse_operations(graph: Any, opset: int) -> None:
    """Fuses layer normalizations, rewrites GELU and table lookups, and folds scalar factors into weights.

    - Normalizations become `LayerNormalization`, from operator set 18 on: ONNX Runtime's optimizer does not recognize
    Keras' nodes for mean, variance and reciprocal root.
    - TensorFlow writes GELU's erf(x / sqrt 2) as erf(x * 0.707). It becomes a division again, which ONNX Runtime's
    optimizer recognizes as GELU.
    - Keras adds the length of a table to negative ids before the lookup; `Gather` does so itself.
    - A scalar factor of a product with weights, such as the scale of queries, is folded into the weights.

    Graphs inside nodes, such as the branches of `If`, are rewritten, too. Weights that several nodes use stay shared.
    Unused nodes stay in the graph.
    """
    nodes = _PatternMatcher(graph)
    for node in graph.node:
        for inner in graphs_in(node).values():
            fuse_operations(inner, opset)
        if node.op_type == "Gather":
            nodes.unwrap_ids(node)
        elif node.op_type == "Erf":
            nodes.write_quotient(node)
        elif node.op_type == "Add" and opset >= NORMALIZATION_OPSET:
            nodes.write_normalization(node)
    nodes.move_factors()


class _Normalization(NamedTuple):
    """(x - mean) / sqrt(variance + epsilon) * scale + offset along the last axis (Ba et al. 2016, section 3).

    Rows (x), scale and offset are names; the offset is empty where there is none.
    """

    rows: str
    scale: str
    offset: str
    epsilon: float


class _Move(NamedTuple):
    """A scalar factor after a product with weights, which can be folded into the weights.

    `source` makes the other operand; `places` use kernel and bias, each with the index of this input.
    """

    product: Any
    source: Any
    factor: float
    places: list[tuple[Any, int]]

    def weights(self) -> list[str]:
        return [node.input[place] for node, place in self.places]


class _PatternMatcher(OnnxGraphWriter):
    """Finds patterns of nodes, by what makes a value and how often it is used."""

    def __init__(self, graph: Any) -> None:
        super().__init__(graph)
        self._readers = count_readers(graph)

    def unwrap_ids(self, lookup: Any) -> None:
        """Replaces the ids of a lookup, `ids < 0 ? ids + length : ids` as a sum of products with 0 and 1, by `ids`."""
        table, wrapped = lookup.input
        if any(attribute.name == "axis" and attribute.i for attribute in lookup.attribute):
            return
        for moved, kept in self._operands(wrapped, "Add"):
            for chosen, summed in self._operands(moved, "Mul"):
                below = self._input_of(chosen, "Cast")
                for ids, count in self._operands(summed, "Add"):
                    if self._is_length(count, table) and self._is_below_zero(below, ids):
                        others = [
                            self._input_of(other, "Cast")
                            for factor, other in self._operands(kept, "Mul")
                            if factor == ids
                        ]
                        if below in [self._input_of(other, "Not") for other in others]:
                            lookup.input[1] = ids

    def write_quotient(self, erf: Any) -> None:
        """Rewrites x * (1 / sqrt 2) as x / sqrt 2."""
        for rows, factor in self._operands(erf.input[0], "Mul"):
            if self._is_number(factor) and float(self._values[factor]) == _SHARE:
                node = self._makers[erf.input[0]]
                node.op_type = "Div"
                node.input[:] = [rows, self._constant("root_of_two", np.array(math.sqrt(2), "float32"))]

    def write_normalization(self, last: Any) -> None:
        """Replaces the last node of a normalization by `LayerNormalization`; other nodes stay."""
        from onnx import helper

        normalization = self._find_normalization(last.output[0])
        if normalization is not None:
            (result,) = last.output
            weights = [self._row(name) for name in (normalization.scale, normalization.offset) if name]
            given = [normalization.rows, *weights]
            last.CopyFrom(
                helper.make_node("LayerNormalization", given, [result], axis=-1, epsilon=normalization.epsilon)
            )

    def move_factors(self) -> None:
        """Folds factors into kernels and biases, if all nodes that use these weights have the same factor."""
        moves = [move for node in self._graph.node if (move := self._find_move(node)) is not None]
        moved = Counter((name, move.factor) for move in moves for name in move.weights())
        for move in moves:
            if all(moved[name, move.factor] == self._readers[name] for name in move.weights()):
                for node, place in move.places:
                    name = node.input[place]
                    node.input[place] = self._constant(f"{name}_{move.factor}", self._values[name] * move.factor)
                (result,) = move.product.output
                move.product.CopyFrom(move.source)
                move.product.output[:] = [result]

    def _find_move(self, product: Any) -> _Move | None:
        """Finds the factor in (rows @ kernel + bias) * factor, or behind a reshape of the sum."""
        for scaled, factor in self._operands(product.output[0], "Mul"):
            reshape = self._read_once(scaled, "Reshape")
            if self._is_number(factor):
                places = self._weights_of(scaled if reshape is None else reshape.input[0])
                if places:
                    return _Move(product, self._makers[scaled], float(self._values[factor]), places)
        return None

    def _weights_of(self, name: str) -> list[tuple[Any, int]]:
        """Finds the nodes that use kernel and bias of a product with weights; an empty list for other nodes."""
        added = self._read_once(name, "Add")
        places = [] if added is None or added.input[1] not in self._values else [(added, 1)]
        product = self._read_once(added.input[0] if places else name, "MatMul")
        return [*places, (product, 1)] if product is not None and product.input[1] in self._values else []

    def _find_normalization(self, name: str) -> _Normalization | None:
        """Matches `x * factor + (offset - mean * factor)` with the factor scale / sqrt(variance + epsilon)."""
        for product, shift in self._operands(name, "Add"):
            for rows, factor in self._operands(product, "Mul"):
                for root, scale in self._operands(factor, "Mul"):
                    variance = self._find_variance(rows, self._input_of(self._input_of(root, "Reciprocal"), "Sqrt"))
                    if variance is not None and self._is_row(scale):
                        mean, epsilon = variance
                        offset = self._find_offset(shift, mean, factor)
                        if offset == "" or (offset and self._is_row(offset, self._values[scale].size)):
                            return _Normalization(rows, scale, offset, epsilon)
        return None

    def _find_variance(self, rows: str, name: str) -> tuple[str, float] | None:
        """Matches mean((x - mean) * (x - mean)) + epsilon; returns the name of the mean of x, and epsilon."""
        for variance, epsilon in self._operands(name, "Add"):
            for first, second in self._operands(self._input_of_mean(variance), "Mul"):
                difference = self._makers.get(first)
                if (
                    first == second
                    and difference is not None
                    and difference.op_type == "Sub"
                    and self._is_number(epsilon)
                ):
                    minuend, mean = difference.input
                    if minuend == rows == self._input_of_mean(mean):
                        return mean, float(self._values[epsilon])
        return None

    def _find_offset(self, shift: str, mean: str, factor: str) -> str | None:
        """Finds the constant that is added to -mean * factor: "" if there is none, None for other nodes."""
        if self._is_product(shift, mean, factor, negative=True):
            return ""
        for moved, offset in self._operands(shift, "Add"):
            if offset in self._values and self._is_product(moved, mean, factor, negative=True):
                return offset
        node = self._makers.get(shift)
        if node is not None and node.op_type == "Sub" and node.input[0] in self._values:
            return str(node.input[0]) if self._is_product(node.input[1], mean, factor, negative=False) else None
        return None

    def _is_product(self, name: str, mean: str, factor: str, *, negative: bool) -> bool:
        return any(
            right == factor and (self._input_of(left, "Neg") if negative else left) == mean
            for left, right in self._operands(name, "Mul")
        )

    def _is_number(self, name: str) -> bool:
        return name in self._values and self._values[name].ndim == 0

    def _is_row(self, name: str, width: int | None = None) -> bool:
        """True if all axes of a constant but the last have size 1: Keras reshapes weights to the rank of the tensor."""
        if name not in self._values or not self._values[name].ndim:
            return False
        size = self._values[name].size
        return bool(self._values[name].shape[-1] == size and width in (None, size))

    def _is_length(self, count: str, table: str) -> bool:
        are_constants = count in self._values and table in self._values
        return are_constants and self._values[count].tolist() == self._values[table].shape[0]

    def _is_below_zero(self, name: str, ids: str) -> bool:
        node = self._makers.get(name)
        if node is None or node.op_type != "Less" or node.input[1] not in self._values:
            return False
        return ids in (node.input[0], self._input_of(node.input[0], "Cast")) and not self._values[node.input[1]].any()

    def _operands(self, name: str, kind: str) -> list[tuple[str, str]]:
        """The two operands of a sum or product in both orders; an empty list for other nodes."""
        node = self._makers.get(name)
        if node is None or node.op_type != kind:
            return []
        first, second = node.input
        return [(first, second), (second, first)]

    def _input_of(self, name: str, kind: str) -> str:
        """The input of the node that makes a value, if it is of this kind; else empty."""
        node = self._makers.get(name)
        return str(node.input[0]) if node is not None and node.op_type == kind else ""

    def _input_of_mean(self, name: str) -> str:
        """The input of a mean along the last axis that keeps this axis with size 1; empty for other nodes."""
        node = self._makers.get(name)
        if node is None or node.op_type != "ReduceMean":
            return ""
        axes = [self._values[name].tolist() for name in node.input[1:] if name in self._values]
        keeps = all(attribute.i for attribute in node.attribute if attribute.name == "keepdims")
        return str(node.input[0]) if keeps and axes == [[-1]] else ""

    def _read_once(self, name: str, kind: str) -> Any:
        """The node of this kind that makes a value, if only one node uses the value; else None."""
        node = self._makers.get(name)
        return node if node is not None and node.op_type == kind and self._readers[name] == 1 else None

    def _row(self, name: str) -> str:
        """Adds a constant reshaped to its last axis; returns its name."""
        return self._constant(f"{name}_row", self._values[name].reshape(-1))
