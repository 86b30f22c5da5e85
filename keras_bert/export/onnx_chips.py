"""Exports `.onnx` graphs for the compilers of chips, which compute in float16 and in integers with other roundings.

What Qualcomm's HTP was seen to do (`onnxruntime-qnn` 2.7, simulated), and how the graph avoids it:

- It rounds the sum of an int8 product to a sixteenth to a thirty-second of a step before it scales the sum, so that one
of 45 activations lands on the next step of eight bits. Each such step moves activations of the next layer: in three
layers, logits differ by 0.15 (root mean square). With 16 bits on the same ranges, by 0.01.
- Behind a `LayerNormalization` with weights, the input of a product is not rounded to eight bits, and is wrong with 16.
With the scale as a product of its own it is right.
"""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from keras_bert.compress.ranges import Ranges, fixed_ranges
from keras_bert.export.onnx import OPSET, make_onnx, write_onnx
from keras_bert.export.onnx_graphs import OnnxGraphWriter, make_canonical
from keras_bert.export.onnx_numbers import convert_to_static_int8
from keras_bert.models.encoder import input_names
from keras_bert.models.first_token import skip_unused_tokens
from keras_bert.tasks.base import Task

if TYPE_CHECKING:
    import onnx

# The first operator set with `QuantizeLinear` of 16 bits, and the version of the format that has it.
_OPSET, _FORMAT = 21, 10
# Steps of 16 bits in a step of eight bits.
_STEPS = 256


def export_for_chips(task: Task, folder: Path, ranges: Ranges | None = None) -> Path:
    """Writes `int8.onnx` for a model with learned activation ranges, else `float16.onnx`; returns its path.

    Inputs and output are those of `export_onnx`. Of `int8.onnx` the kernels have eight bits and the activations 16, on
    the learned ranges; numbers are float between them, and in `float16.onnx`: chips compute them in float16.
    """
    network = task.network()
    served, inputs = skip_unused_tokens(network), dict.fromkeys(input_names(network), tf.int32)
    with fixed_ranges(network, ranges) if ranges else contextlib.nullcontext():
        graph = make_onnx(lambda values: {task.output_name: served(values, training=False)}, inputs, OPSET)
    if ranges:
        graph = convert_to_static_int8(graph)
        _ChipGraph(graph.graph).widen_activations()
        graph.opset_import[0].version, graph.ir_version = _OPSET, _FORMAT
    path = folder / ("int8.onnx" if ranges else "float16.onnx")
    write_onnx(split_normalizations(graph), path)
    return path


def split_normalizations(graph: "onnx.ModelProto") -> "onnx.ModelProto":
    """Gives layer normalizations weights of 1, and multiplies and adds their weights behind them."""
    import onnx

    _ChipGraph(graph.graph).split_normalizations()
    make_canonical(graph.graph)
    onnx.checker.check_model(graph)
    return graph


class _ChipGraph(OnnxGraphWriter):
    def widen_activations(self) -> None:
        """Replaces quantizers of eight bits by those of 16 on the same ranges; values of tables keep eight."""
        grids = {node.output[0] for node in self._graph.node if node.op_type == "QuantizeLinear"}
        for node in self._graph.node:
            if node.op_type == "QuantizeLinear" or (node.op_type == "DequantizeLinear" and node.input[0] in grids):
                names = node.input[1:]
                scale, zero = (self._values[name] for name in names)
                # A grid of int8 is around 0.
                wide = np.float32(scale / _STEPS), np.uint16((int(zero) - np.iinfo(zero.dtype).min) * _STEPS)
                node.input[1:] = [
                    self._constant(f"{name}_wide", np.asarray(value)) for name, value in zip(names, wide, strict=True)
                ]

    def split_normalizations(self) -> None:
        """Rewrites each layer normalization; the nodes stay in order."""
        from onnx import helper

        nodes: list[Any] = []
        for node in self._graph.node:
            nodes.append(node)
            if node.op_type != "LayerNormalization":
                continue
            result, (rows, scale, *offset) = node.output[0], node.input
            ones = np.ones_like(self._values[scale])
            node.input[:], node.output[0] = [rows, self._constant(f"ones_{ones.size}", ones)], f"{result}_normal"
            scaled = f"{result}_scaled" if offset else result
            nodes.append(helper.make_node("Mul", [f"{result}_normal", scale], [scaled]))
            if offset:
                nodes.append(helper.make_node("Add", [scaled, *offset], [result]))
        self._graph.ClearField("node")
        self._graph.node.extend(nodes)
