"""Stores the tables of positions in `.tflite` files as int8."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.layer_names import make_layer_pattern
from keras_bert.export.lite_writer import LiteGraphWriter

_Kind = schema.BuiltinOperator
_Options = schema.BuiltinOptions
# The numbers of an int8 grid: 0 to 255 in a range, -128 to 127 in a file.
_STEPS, _LOWEST = 255, -128


def store_positions_as_integers(model: Any, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Replaces float constants of positions by int8 constants and `DEQUANTIZE`, in place.

    The rows that a signature reads do not depend on its inputs, so TensorFlow's converter computes them and their
    grid in advance, and writes them as float32 in every signature: a fifth of a file of 1 MB. LiteRT and XNNPACK
    dequantize constants once, when they load the file.

    Args:
        model: the file, a `ModelT`, with all data inside the model.
        ranges: the path of each table -> the smallest and the largest value of its grid, which all its values are on.

    Raises:
        RuntimeError: the file has no constant with the name of a table.
    """
    for layer, span in ranges.items():
        # Files that take texts have graphs without positions, those of the tokenizer's loops.
        if not sum(_Writer(model, graph).store(layer, span) for graph in model.subgraphs):
            raise RuntimeError(f"the file must have a constant of {layer}, found none")
    # Signatures may read the same buffer; an empty one has no bytes in the file.
    read = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    read.update(entry.buffer for entry in model.metadata or ())
    for number, buffer in enumerate(model.buffers):
        if number not in read:
            buffer.data = None


class _Writer(LiteGraphWriter):
    """Replaces the constants of positions of a graph."""

    def store(self, layer: str, span: tuple[float, float]) -> int:
        """Replaces the constants that have the name of a layer; returns their number."""
        pattern = re.compile(rf"(^|/){make_layer_pattern(layer)}/")
        numbers = [number for number in range(len(self._graph.tensors)) if self._is_constant(number, pattern)]
        for number in numbers:
            self._store(number, *span)
        return len(numbers)

    def _is_constant(self, number: int, pattern: re.Pattern[str]) -> bool:
        tensor = self._graph.tensors[number]
        is_float = tensor.type == schema.TensorType.FLOAT32 and self._model.buffers[tensor.buffer].data is not None
        return is_float and pattern.search(tensor.name.decode()) is not None

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
