"""Nodes of a graph of ONNX in the forms that runtimes have fast kernels for."""

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

# `LayerNormalization` is one older, but until then tf2onnx writes some means as pools.
NORMALIZATION_OPSET = 18

_SHARE = float(np.float32(math.sqrt(0.5)))


def fuse(graph: Any, opset: int) -> None:
    """Writes normalizations as `LayerNormalization`, from operator set 18 on, and GELU and ids in their usual forms.

    Keras takes a mean, a variance and a reciprocal root apart, in a form that ONNX Runtime's own optimizer does not
    know. Nor does it know a GELU of erf(x * 0.707), which TensorFlow makes of erf(x / sqrt 2). Keras adds the length of
    a table to ids below zero, which `Gather` does itself. And a number by which all results of a product with weights
    are multiplied, as those of queries, goes into the weights. Nodes that nothing reads any more stay.

    Args:
        graph: a `GraphProto`; those inside its nodes, as of a choice, are written anew, too.
        opset: the version of ONNX' operator set.
    """
    nodes = _Nodes(graph)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                fuse(attribute.g, opset)
        if node.op_type == "Gather":
            nodes.unwrap_ids(node)
        elif node.op_type == "Erf":
            nodes.write_quotient(node)
        elif node.op_type == "Mul":
            nodes.move_factor(node)
        elif node.op_type == "Add" and opset >= NORMALIZATION_OPSET:
            nodes.write_normalization(node)


class _Normalization(NamedTuple):
    """(x - mean) / sqrt(variance + epsilon) * scale + offset along the last axis (Ba et al. 2016, section 3).

    Attributes:
        rows: name of x.
        scale: any shape of as many values as the axis has.
        offset: as the scale, or None.
        epsilon: a small number.
    """

    rows: str
    scale: Any
    offset: Any
    epsilon: float


class _Nodes:
    """The nodes of a graph, and what each of them is made of."""

    def __init__(self, graph: Any) -> None:
        from onnx import numpy_helper

        self._graph = graph
        self._values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self._makers = {name: node for node in graph.node for name in node.output}
        self._readers = Counter(name for node in graph.node for name in node.input)

    def unwrap_ids(self, lookup: Any) -> None:
        """Looks up `ids` in the place of `ids < 0 ? ids + length : ids`, which is a sum of products with 0 and 1."""
        table, wrapped = lookup.input
        for moved, kept in self._parts(wrapped, "Add"):
            for chosen, summed in self._parts(moved, "Mul"):
                below = self._under(chosen, "Cast")
                for ids, count in self._parts(summed, "Add"):
                    if self._is_length(count, table) and self._is_below_zero(below, ids):
                        others = [self._under(other, "Cast") for each, other in self._parts(kept, "Mul") if each == ids]
                        if below in [self._under(other, "Not") for other in others]:
                            lookup.input[1] = ids

    def write_quotient(self, erf: Any) -> None:
        """Writes x * (1 / sqrt 2) as x / sqrt 2."""
        for rows, factor in self._parts(erf.input[0], "Mul"):
            if factor in self._values and self._values[factor].tolist() == _SHARE:
                node = self._makers[erf.input[0]]
                node.op_type = "Div"
                node.input[:] = [rows, self._constant(f"{node.output[0]}_root", np.array(math.sqrt(2)))]

    def move_factor(self, product: Any) -> None:
        """Multiplies kernel and bias in the place of reshape(rows @ kernel + bias), which nothing else reads."""
        for reshaped, factor in self._parts(product.output[0], "Mul"):
            reshape = self._makers.get(reshaped)
            if reshape is None or reshape.op_type != "Reshape" or not self._is_number(factor):
                continue
            places = self._weights_of(reshape.input[0])
            if places and self._readers[reshaped] == 1:
                for node, place in places:
                    node.input[place] = self._multiplied(node.input[place], factor)
                result = product.output[0]
                product.CopyFrom(reshape)
                product.output[:] = [result]

    def _weights_of(self, name: str) -> list[tuple[Any, int]]:
        """Where kernel and bias of a product with weights stand, that one node reads; nothing of another node."""
        node, places = self._makers.get(name), []
        if node is not None and node.op_type == "Add" and node.input[1] in self._values:
            places.append((node, 1))
            name, node = node.input[0], self._makers.get(node.input[0]) if self._readers[name] == 1 else None
        if node is None or node.op_type != "MatMul" or node.input[1] not in self._values or self._readers[name] > 1:
            return []
        return [*places, (node, 1)]

    def _multiplied(self, weights: str, factor: str) -> str:
        """A constant times another; layers that share weights share these, too."""
        name = f"{weights}_times_{factor}"
        if name not in self._values:
            self._values[name] = self._values[weights] * self._values[factor]
            self._constant(name, self._values[name])
        return name

    def _is_number(self, name: str) -> bool:
        return name in self._values and self._values[name].size == 1

    def write_normalization(self, last: Any) -> None:
        """Writes one in the place of its last node, if that is what the node ends."""
        from onnx import helper

        found = self._find_normalization(last.output[0])
        if found is not None:
            (result,) = last.output
            given = [found.rows, self._constant(f"{result}_scale", found.scale.reshape(-1))]
            if found.offset is not None:
                given.append(self._constant(f"{result}_offset", found.offset.reshape(-1)))
            last.CopyFrom(helper.make_node("LayerNormalization", given, [result], axis=-1, epsilon=found.epsilon))

    def _find_normalization(self, name: str) -> _Normalization | None:
        """What `x * factor + (offset - mean * factor)` is, the factor being scale / sqrt(variance + epsilon)."""
        for product, shift in self._parts(name, "Add"):
            for rows, factor in self._parts(product, "Mul"):
                for root, scale in self._parts(factor, "Mul"):
                    known = self._find_variance(rows, self._under(self._under(root, "Reciprocal"), "Sqrt"))
                    if known is not None and scale in self._values:
                        mean, epsilon = known
                        shifted, offset = self._find_offset(shift, mean, factor)
                        if shifted:
                            return _Normalization(rows, self._values[scale], offset, epsilon)
        return None

    def _find_variance(self, rows: str, name: str) -> tuple[str, float] | None:
        """Of mean((x - mean) * (x - mean)) + epsilon the name of the mean of x, and the number."""
        for variance, epsilon in self._parts(name, "Add"):
            for one, other in self._parts(self._under_mean(variance), "Mul"):
                difference = self._makers.get(one)
                if one == other and difference is not None and difference.op_type == "Sub" and epsilon in self._values:
                    minuend, mean = difference.input
                    if minuend == rows == self._under_mean(mean):
                        return mean, float(self._values[epsilon])
        return None

    def _find_offset(self, shift: str, mean: str, factor: str) -> tuple[bool, Any]:
        """Whether there is -mean * factor in a shift, and the constant beside it."""
        if self._is_product(shift, mean, factor, negative=True):
            return True, None
        for moved, offset in self._parts(shift, "Add"):
            if offset in self._values and self._is_product(moved, mean, factor, negative=True):
                return True, self._values[offset]
        node = self._makers.get(shift)
        if node is not None and node.op_type == "Sub" and node.input[0] in self._values:
            return self._is_product(node.input[1], mean, factor, negative=False), self._values[node.input[0]]
        return False, None

    def _is_product(self, name: str, mean: str, factor: str, *, negative: bool) -> bool:
        return any(
            right == factor and (self._under(left, "Neg") if negative else left) == mean
            for left, right in self._parts(name, "Mul")
        )

    def _is_length(self, count: str, table: str) -> bool:
        known = count in self._values and table in self._values
        return known and self._values[count].tolist() == self._values[table].shape[0]

    def _is_below_zero(self, name: str, ids: str) -> bool:
        node = self._makers.get(name)
        if node is None or node.op_type != "Less" or node.input[1] not in self._values:
            return False
        return ids in (node.input[0], self._under(node.input[0], "Cast")) and not self._values[node.input[1]].any()

    def _parts(self, name: str, kind: str) -> list[tuple[str, str]]:
        """Both orders of what a sum or product is of; nothing of another node."""
        node = self._makers.get(name)
        if node is None or node.op_type != kind:
            return []
        one, other = node.input
        return [(one, other), (other, one)]

    def _under(self, name: str, kind: str) -> str:
        """What a node of one input takes; nothing of another node."""
        node = self._makers.get(name)
        return str(node.input[0]) if node is not None and node.op_type == kind else ""

    def _under_mean(self, name: str) -> str:
        """What a mean along the last axis is of."""
        node = self._makers.get(name)
        if node is None or node.op_type != "ReduceMean":
            return ""
        axes = [self._values[each].tolist() for each in node.input[1:] if each in self._values]
        return str(node.input[0]) if axes == [[-1]] else ""

    def _constant(self, name: str, values: Any) -> str:
        from onnx import numpy_helper

        self._graph.initializer.append(numpy_helper.from_array(values.astype("float32"), name))
        return name
