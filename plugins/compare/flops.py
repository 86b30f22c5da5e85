"""Counts the floating-point operations of the matrix products and convolutions in a graph."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

# A training step costs three forward passes: the gradient of a product takes two products of its size, one a factor
# (Kaplan et al. 2020, section 2.1). Clark et al. (2020, appendix E) count the backward pass once, which gives two.
PASSES_A_STEP = 3

Shape = tuple[int, ...]


def count_flops(function: Callable[..., Any], *specs: Any) -> int:
    """The floating-point operations of a call: a multiplication and an addition for every term of a product.

    The function is traced, not run. All products that contribute to its results count; TensorFlow does not compute
    others. Everything else (normalization, activations, sums, look-ups) is left out, as in Kaplan et al. (2020,
    section 2.1).

    `specs` are its arguments as `tf.TensorSpec` with static shapes, also in dicts and lists.
    """
    graph = tf.function(function, autograph=False).get_concrete_function(*specs).graph
    visited: set[tf.Operation] = set()
    pending = [output.op for output in graph.outputs]
    while pending:
        operation = pending.pop()
        if operation not in visited:
            visited.add(operation)
            pending += [tensor.op for tensor in operation.inputs]
    return sum(map(_count, visited))


def _count(operation: tf.Operation) -> int:
    if any(value.HasField("func") for value in operation.node_def.attr.values()):
        raise ValueError(f"count_flops must see all products, got a function in {operation.type} {operation.name!r}")
    if operation.type not in _PRODUCTS:
        return 0
    shapes = [tuple(tensor.shape) for tensor in (*operation.inputs, operation.outputs[0])]
    if any(size is None for shape in shapes for size in shape):
        raise ValueError(f"count_flops must know all sizes, got {operation.type} {operation.name!r} of {shapes}")
    return 2 * _PRODUCTS[operation.type](operation, *shapes)


def _of_matrices(operation: tf.Operation, first: Shape, _: Shape, out: Shape) -> int:
    transposed = operation.get_attr("transpose_a" if operation.type == "MatMul" else "adj_x")
    return math.prod(out) * first[-2 if transposed else -1]


def _of_labels(operation: tf.Operation, *shapes: Shape) -> int:
    """An `Einsum`: the product of the sizes of all labels."""
    *factors, _ = re.split(",|->", operation.get_attr("equation").decode())
    if len(factors) < 2:
        return 0  # a sum or a transposition
    sizes: dict[str, int] = {}
    for factor, shape in zip(factors, shapes, strict=False):
        # `a...b` names the first and the last axis; the axes between are numbered from the right, as in broadcasting.
        inner = len(shape) - len(factor.replace("...", ""))
        labels = re.sub(r"\.\.\.", "".join(str(place) for place in reversed(range(inner))), factor)
        for label, size in zip(labels, shape, strict=True):
            sizes[label] = max(size, sizes.get(label, 1))
    return math.prod(sizes.values())


def _of_windows(_: tf.Operation, __: Shape, kernel: Shape, out: Shape) -> int:
    """A convolution with a kernel (..., input channels of a group, output channels)."""
    return math.prod(out) * math.prod(kernel[:-1])


def _of_single_windows(_: tf.Operation, __: Shape, kernel: Shape, out: Shape) -> int:
    """A depthwise convolution with a kernel (height, width, channels, multiplier)."""
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
