"""Stores constants that training rounded as int8 in `.tflite` files."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.layer_names import make_layer_pattern
from keras_bert.export.lite_writer import LiteGraphWriter

_Kind = schema.BuiltinOperator
_Options = schema.BuiltinOptions
# The end of the path of the tap on a layer's result, and the operation that rounds it.
_RESULT, _ROUNDING = "/output_tap", "FakeQuantWithMinMaxArgs"
# The numbers of an int8 grid: 0 to 255 in a range, -128 to 127 in a file.
_STEPS, _LOWEST = 255, -128


def store_constants_as_integers(model: Any, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Replaces float constants that are on a grid of training by int8 constants and `DEQUANTIZE`, in place.

    The positions that a signature reads do not depend on its inputs: TensorFlow's converter computes their rounded
    vectors in advance, and writes them as float32 in every signature where what reads them is float: a fifth of a file
    of 1 MB. Inference takes as long as with floats. `ranges` has the smallest and the largest value of the grid of each
    tap, by its path; the constants are those that the rounding of a layer's result left.
    """
    layers = {tap.removesuffix(_RESULT): span for tap, span in ranges.items() if tap.endswith(_RESULT)}
    for graph in model.subgraphs:
        _Writer(model, graph).store(layers)
    # Signatures may read the same buffer; an empty one has no bytes in the file.
    read = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    read.update(entry.buffer for entry in model.metadata or ())
    for number, buffer in enumerate(model.buffers):
        if number not in read:
            buffer.data = None


class _Writer(LiteGraphWriter):
    """Replaces the rounded float constants of a graph."""

    def store(self, layers: Mapping[str, tuple[float, float]]) -> None:
        """Replaces the constants that are the results of layers, each rounded in a range."""
        for number, tensor in enumerate(list(self._graph.tensors)):
            name = tensor.name.decode()
            is_float = tensor.type == schema.TensorType.FLOAT32 and self._model.buffers[tensor.buffer].data is not None
            if not is_float or _ROUNDING not in name:
                continue
            for layer, span in layers.items():
                if re.search(rf"(^|/){make_layer_pattern(layer)}/{_ROUNDING}", name):
                    self._store(number, *span)
                    break

    def _store(self, number: int, low: float, high: float) -> None:
        tensor = self._graph.tensors[number]
        values = np.asarray(self._model.buffers[tensor.buffer].data, np.uint8).view(np.float32)
        scale = (high - low) / _STEPS
        zero = round(-low / scale) + _LOWEST
        integers = np.clip(np.rint(values / scale) + zero, _LOWEST, _LOWEST + _STEPS).astype(np.int8)
        stored = self._constant(tensor.name, "int8", integers.reshape(tensor.shape))
        grid = schema.QuantizationParametersT()
        grid.scale, grid.zeroPoint = np.array([scale], np.float32), np.array([zero], np.int64)
        self._graph.tensors[stored].quantization = grid
        # The float tensor stays, as the result of an operation.
        tensor.buffer = 0
        options = schema.DequantizeOptionsT()
        operation = self._operation(_Kind.DEQUANTIZE, [stored], number, _Options.DequantizeOptions, options)
        self._graph.operators.insert(0, operation)
