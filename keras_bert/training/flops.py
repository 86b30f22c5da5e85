"""How many floating-point operations a graph takes: those of its products, counted where they stand."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

# A training step takes three forward passes: the gradient of a product is two products of its size, one for each factor
# (Kaplan et al. 2020, section 2.1). Clark et al. (2020, appendix E) count the pass backward once, which gives two.
PASSES_A_STEP = 3

Shape = tuple[int, ...]


def count_flops(function: Callable[..., Any], *specs: Any) -> int:
    """The operations of one call: two, a multiplication and an addition, for each pair of numbers that a product joins.

    The function is traced, not run; what is added up are the products in its graph that its results need, whatever
    layers they are of: TensorFlow does not compute the others. All else (norms, activations, sums, look-ups) is left
    out, as by Kaplan et al. (2020, section 2.1).

    Args:
        function: what to call.
        specs: its arguments as `tf.TensorSpec`, without unknown sizes; also in dicts and lists.

    Raises:
        ValueError: the graph holds a loop or another function, which cannot be counted, or a product of unknown size.
    """
    graph = tf.function(function, autograph=False).get_concrete_function(*specs).graph
    return sum(map(_count, _needed(graph)))


def _needed(graph: tf.Graph) -> set[tf.Operation]:
    """The operations whose results lead to a graph's outputs."""
    found: set[tf.Operation] = set()
    waiting = [output.op for output in graph.outputs]
    while waiting:
        operation = waiting.pop()
        if operation not in found:
            found.add(operation)
            waiting += [tensor.op for tensor in operation.inputs]
    return found


def _count(operation: tf.Operation) -> int:
    if any(value.HasField("func") for value in operation.node_def.attr.values()):
        raise ValueError(f"count_flops must see all products, got a function in {operation.type} {operation.name!r}")
    if operation.type not in _PRODUCTS:
        return 0
    shapes = [tuple(each.shape) for each in (*operation.inputs, operation.outputs[0])]
    if any(size is None for shape in shapes for size in shape):
        raise ValueError(f"count_flops must know all sizes, got {operation.type} {operation.name!r} of {shapes}")
    return 2 * _PRODUCTS[operation.type](operation, *shapes)


def _of_matrices(operation: tf.Operation, first: Shape, _: Shape, out: Shape) -> int:
    turned = operation.get_attr("transpose_a" if operation.type == "MatMul" else "adj_x")
    return math.prod(out) * first[-2 if turned else -1]


def _of_labels(operation: tf.Operation, *shapes: Shape) -> int:
    """An `Einsum`, all of whose labels run."""
    *factors, _ = re.split(",|->", operation.get_attr("equation").decode())
    if len(factors) < 2:
        return 0  # a sum, or a transposition
    sizes: dict[str, int] = {}
    for factor, shape in zip(factors, shapes, strict=False):
        # `a...b` names the first axis and the last; those between are counted from the right, as broadcasting does.
        inner = len(shape) - len(factor.replace("...", ""))
        labels = re.sub(r"\.\.\.", "".join(str(place) for place in reversed(range(inner))), factor)
        for label, size in zip(labels, shape, strict=True):
            sizes[label] = max(size, sizes.get(label, 1))
    return math.prod(sizes.values())


def _of_windows(_: tf.Operation, __: Shape, kernel: Shape, out: Shape) -> int:
    """A convolution, kernel (..., channels in of a group, channels out): each output is a sum over its window."""
    return math.prod(out) * math.prod(kernel[:-1])


def _of_single_windows(_: tf.Operation, __: Shape, kernel: Shape, out: Shape) -> int:
    """A convolution of each channel by itself, kernel (height, width, channels, multiplier)."""
    return math.prod(out) * math.prod(kernel[:2])


_PRODUCTS: Mapping[str, Callable[..., int]] = {
    "MatMul": _of_matrices,
    "BatchMatMul": _of_matrices,
    "BatchMatMulV2": _of_matrices,
    "BatchMatMulV3": _of_matrices,
    "Einsum": _of_labels,
    "Conv2D": _of_windows,
    "Conv3D": _of_windows,
    "DepthwiseConv2dNative": _of_single_windows,
}
