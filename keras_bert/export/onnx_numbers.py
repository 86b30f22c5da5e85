"""Converts a float32 ONNX graph to float16 and int8, with ONNX Runtime's converters or learned activation ranges."""

import itertools
import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.export.onnx_graphs import OnnxGraphWriter, count_readers, make_canonical
from keras_bert.layers.tap import SEPARATOR

if TYPE_CHECKING:
    import onnx

# Operations on squares of hidden states, as in normalizations: the largest float16 is 65504, about the square of 256.
_MEANS = ("ReduceMean", "ReduceSum", "Pow", "Sqrt", "Reciprocal")

# int32 and int64 in ONNX' `TensorProto.DataType`.
_INTEGERS = (6, 7)


def convert_to_float16(graph: "onnx.ModelProto") -> "onnx.ModelProto":
    """Converts weights and most operations of a graph to float16; inputs and outputs keep their types."""
    import onnx
    from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16

    copy = onnx.ModelProto()
    copy.CopyFrom(graph)
    with warnings.catch_warnings():
        # The converter warns of numbers that float16 rounds, as intended.
        warnings.simplefilter("ignore")
        half: onnx.ModelProto = convert_float_to_float16(
            copy,
            keep_io_types=True,
            op_block_list=[*DEFAULT_OP_BLOCK_LIST, *_MEANS],
            node_block_list=[*_find_squares(graph.graph), *_find_counts(graph.graph), *_find_scale(graph.graph)],
        )
    _join_casts(half.graph)
    # The converter appends the casts at the end.
    make_canonical(half.graph)
    onnx.checker.check_model(half)
    return half


def _find_squares(graph: "onnx.GraphProto") -> list[str]:
    """Returns the names of nodes that compute squares or the operand of a square root."""
    under_roots = {name for node in graph.node if node.op_type == "Sqrt" for name in node.input}
    return [
        node.name
        for node in graph.node
        if (node.op_type == "Mul" and len(set(node.input)) == 1) or under_roots.intersection(node.output)
    ]


def _find_counts(graph: "onnx.GraphProto") -> list[str]:
    """Returns the names of nodes for integer values, such as positions: float16 is exact only up to 2048."""
    makers = {name: node for node in graph.node for name in node.output}
    pending = [node for node in graph.node if node.op_type == "Cast" and node.attribute[0].i in _INTEGERS]
    names: dict[str, None] = {}
    while pending:
        node = pending.pop()
        # A shape does not depend on the type of the values.
        if node.name not in names and node.op_type != "Shape":
            names[node.name] = None
            pending += [makers[name] for name in node.input if name in makers]
    return list(names)


def _find_scale(graph: "onnx.GraphProto") -> list[str]:
    """Returns the names of the last sums and products with a scalar: the scale of a regression's targets.

    They stay float32: a mean of 100,000 is infinite in float16.
    """
    from onnx import numpy_helper

    numbers = {tensor.name for tensor in graph.initializer if numpy_helper.to_array(tensor).size == 1}
    makers = {name: node for node in graph.node for name in node.output}
    node, names = makers.get(graph.output[0].name), []
    while node is not None and node.op_type in ("Add", "Mul") and numbers.intersection(node.input):
        names.append(node.name)
        node = next((makers[name] for name in node.input if name in makers), None)
    return names


def _join_casts(graph: "onnx.GraphProto") -> None:
    """Removes pairs of casts to float16 and back after nodes that compute in float32."""
    made = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    for node in graph.node:
        last = made.get(node.input[0]) if node.name.startswith("graph_output_cast") else None
        if last is not None and last.name.endswith("_cast_to_fp16_node"):
            node.input[0] = last.input[0]
        for place, name in enumerate(node.input):
            back = made.get(name)
            there = made.get(back.input[0]) if back is not None and back.name.endswith("_cast_to_fp32_node") else None
            if there is not None and there.name.endswith("_cast_to_fp16_node"):
                node.input[place] = there.input[0]


def convert_to_dynamic_int8(graph: "onnx.ModelProto") -> "onnx.ModelProto":
    """Dynamic quantization: int8 weights with one scale per unit; the inputs of products are quantized at run time.

    Weights have seven bits, as in transformers.js' converter: sums of pairs of eight-bit products overflow on
    processors without VNNI.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder, _quiet():
        path = Path(folder) / "model.onnx"
        quantize_dynamic(graph, path, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
        rounded: onnx.ModelProto = onnx.load_model(path)
    onnx.checker.check_model(rounded)
    return rounded


# Operations that do not change values, between a quantizer and the product.
_CARRIERS = ("Reshape", "Transpose")
# Operations that return rows of a table: those of tokens, and those of positions.
_LOOKUPS = ("Gather", "Slice")
# The largest integer of a symmetric quantization grid.
_LAST = 127
# The largest integer of kernels of seven bits: x86 processors without VNNI add pairs of products with uint8 in int16,
# and 2 * 255 * 64 is below 2^15.
_REDUCED_LAST = 64
# The largest distance of a kernel from its quantization grid, in steps; float32 errors of 127 steps are smaller.
_OFF_GRID = 1e-3


def convert_to_static_int8(graph: "onnx.ModelProto", *, reduce_range: bool = False) -> "onnx.ModelProto":
    """Static quantization of a graph from inside `fixed_ranges`: integers in place of kernels and tables.

    The activations are quantized already: tf2onnx writes fake quantization as `QuantizeLinear` and `DequantizeLinear`.
    Kernels on a symmetric quantization grid, with one scale per unit, become int8: without loss, or rounded
    to seven bits with `reduce_range`. Other kernels stay float.
    """
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(graph)
    _IntegerConstants(copy.graph, _REDUCED_LAST if reduce_range else _LAST).replace()
    make_canonical(copy.graph)
    onnx.checker.check_model(copy)
    return copy


class _IntegerConstants(OnnxGraphWriter):
    def __init__(self, graph: "onnx.GraphProto", largest: int) -> None:
        super().__init__(graph)
        self._largest = largest

    def replace(self) -> None:
        """Replaces kernels and tables, except in products of float activations."""
        self._pass_separators()
        counts = count_readers(self._graph)
        readers = {name: node for node in self._graph.node for name in node.input}
        for node in list(self._graph.node):
            if node.op_type == "MatMul" and self._grid_of(node.input[0]) is not None:
                if node.input[1] in self._values:
                    self._replace_kernel(node)
                self._centre(node)
            elif node.op_type in _LOOKUPS and node.input[0] in self._values and counts[node.output[0]] == 1:
                reader = readers.get(node.output[0])
                if reader is not None and reader.op_type == "QuantizeLinear" and self._has_grid(reader):
                    self._replace_table(node, reader)

    def _pass_separators(self) -> None:
        """Removes the products with `SEPARATOR`: only TensorFlow's converter needs them, and they prevent fusions."""
        replaced = {}
        for node in self._graph.node:
            if node.op_type == "Mul":
                for value, factor in (node.input, reversed(node.input)):
                    if factor in self._values and self._values[factor].tolist() == SEPARATOR:
                        replaced[node.output[0]] = value
            node.input[:] = [replaced.get(name, name) for name in node.input]

    def _has_grid(self, quantize: "onnx.NodeProto") -> bool:
        """True if a quantizer has a scale and a zero point, and both are constants."""
        return len(quantize.input) == 3 and all(name in self._values for name in quantize.input[1:])

    def _grid_of(self, name: str) -> "onnx.NodeProto | None":
        """The `DequantizeLinear` that makes a value; None for a float value."""
        maker = self._makers.get(name)
        while maker is not None and maker.op_type in _CARRIERS:
            maker = self._makers.get(maker.input[0])
        return maker if maker is not None and maker.op_type == "DequantizeLinear" else None

    def _centre(self, product: "onnx.NodeProto") -> None:
        """Writes grids around 128 as int8 around 0: OpenVINO multiplies two activations as integers only on these."""
        grids = [grid for name in product.input if (grid := self._grid_of(name)) is not None]
        pairs = [(grid, self._makers[grid.input[0]]) for grid in grids if grid.input[0] in self._makers]
        if len(pairs) == len(product.input) and all(self._values[grid.input[2]] == _LAST + 1 for grid in grids):
            for node in itertools.chain(*pairs):
                node.input[2] = self._constant("centre", np.array(0, "int8"))

    def _replace_kernel(self, product: "onnx.NodeProto") -> None:
        """Replaces a kernel that is on a quantization grid; kernels of float layers are not, and stay float."""
        name = product.input[1]
        kernel = self._values[name]
        scales = np.maximum(np.abs(kernel).max(axis=0), np.finfo("float32").tiny) / np.float32(_LAST)
        steps = np.round(kernel / scales)
        if kernel.ndim != 2 or np.abs(kernel / scales - steps).max() > _OFF_GRID:
            return
        values = f"{name}_values"
        if values not in self._makers:
            steps, scales = np.round(steps * (self._largest / _LAST)), scales * np.float32(_LAST / self._largest)
            integers = self._constant(f"{name}_steps", steps.astype("int8"))
            zeros = self._constant(f"{name}_zeros", np.zeros(scales.shape, "int8"))
            scale = self._constant(f"{name}_scales", scales.astype("float32"))
            self._add("DequantizeLinear", [integers, scale, zeros], values, axis=1)
        product.input[1] = values

    def _replace_table(self, lookup: "onnx.NodeProto", quantize: "onnx.NodeProto") -> None:
        """Quantizes a table: the lookup returns integers, and the quantizer after it is removed."""
        name = lookup.input[0]
        scale, zero = (self._values[parameter] for parameter in quantize.input[1:])
        limits = np.iinfo(zero.dtype)
        steps = np.clip(np.round(self._values[name] / scale) + zero, limits.min, limits.max)
        lookup.input[0] = self._constant("_".join([name, *quantize.input[1:], "steps"]), steps.astype(zero.dtype))
        lookup.output[0] = quantize.output[0]
        self._graph.node.remove(quantize)

    def _add(self, kind: str, given: list[str], result: str, **attributes: Any) -> None:
        from onnx import helper

        self._makers[result] = helper.make_node(kind, given, [result], **attributes)
        self._graph.node.append(self._makers[result])


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences the quantizer's advice to preprocess the graph, which changes nothing here."""
    logger, before = logging.getLogger(), logging.getLogger().level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
