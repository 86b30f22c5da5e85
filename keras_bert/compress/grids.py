"""Roundings to the grids of integers, with the quantizers of tfmot; gradients pass straight through."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from keras_bert.compress.tfmot import quantizers
from keras_bert.layers.embeddings import TokenEmbedding

_TABLE = quantizers.LastValueQuantizer(num_bits=8, per_axis=False, symmetric=False, narrow_range=False)
_ACTIVATION = quantizers.MovingAverageQuantizer(num_bits=8, per_axis=False, symmetric=False, narrow_range=False)


class KernelGrid:
    """Symmetric grids, as wide as the largest of their weights is now: one a unit, or one for each block of its inputs.

    Args:
        shape: of the kernel (inputs, units).
        bits: of a weight.
        block: inputs of a unit that share a grid, a divisor of all; None for all of them.
    """

    def __init__(self, shape: tuple[int, int], bits: int = 8, block: int | None = None) -> None:
        self._inputs, self._units = shape
        self._block = block or self._inputs
        if self._inputs % self._block:
            raise ValueError(f"block must divide the {self._inputs} inputs of a kernel, got {block}")
        self._quantizer = quantizers.LastValueQuantizer(num_bits=bits, per_axis=True, symmetric=True, narrow_range=True)
        columns = self._inputs // self._block * self._units
        self._variables = self._quantizer.build((self._block, columns), "kernel", _RangeVariables())

    def __call__(self, kernel: Any) -> tf.Tensor:
        """(inputs, units) -> (inputs, units)."""
        return in_float32(self._round, kernel)

    def _round(self, kernel: tf.Tensor) -> tf.Tensor:
        blocks = self._inputs // self._block
        parted = tf.transpose(tf.reshape(kernel, (blocks, self._block, self._units)), (1, 0, 2))
        rounded = self._quantizer(tf.reshape(parted, (self._block, -1)), True, self._variables)
        back = tf.transpose(tf.reshape(rounded, (self._block, blocks, self._units)), (1, 0, 2))
        return tf.reshape(back, (self._inputs, self._units))


class HalfKernel:
    """Kernels as float16 has them."""

    def __call__(self, kernel: Any) -> tf.Tensor:
        """(inputs, units) -> the same shape."""
        return half(tf.convert_to_tensor(kernel))


@tf.custom_gradient
def half(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[Any], Any]]:
    """The nearest float16 of each number, and for the gradient the number itself."""
    return tf.cast(tf.cast(x, tf.float16), x.dtype), lambda gradient: gradient


class MovingGrid:
    """One grid for a tensor, its range a moving average over training batches."""

    def __init__(self) -> None:
        self._variables = _ACTIVATION.build(None, "activation", _RangeVariables())
        self._seen: list[tuple[float, float]] = []

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        """(...) -> (...); a training call moves the range."""
        return in_float32(lambda x: _ACTIVATION(x, training, self._variables), x)

    def observe(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        """Notes the range of a tensor and passes it on."""
        self._seen.append((float(tf.reduce_min(x)), float(tf.reduce_max(x))))
        return x

    def start(self) -> None:
        """Sets the range to the mean of what was seen; it must hold zero, and more than zero."""
        lows, highs = zip(*self._seen, strict=True)
        self._variables["min_var"].assign(min(sum(lows) / len(lows), 0.0))
        self._variables["max_var"].assign(max(sum(highs) / len(highs), 1e-6))

    def range(self) -> tuple[float, float]:
        """(smallest, largest) value of the grid."""
        return _read(self._variables)

    def variables(self) -> list[tf.Variable]:
        """What training moves."""
        return list(self._variables.values())


class TableGrid:
    """The grid of a whole embedding table: a row that no batch showed must not be clipped."""

    def __init__(self, layer: TokenEmbedding) -> None:
        self.layer = layer
        self._variables = _TABLE.build(None, "table", _RangeVariables())
        _TABLE(tf.convert_to_tensor(layer.embeddings), True, self._variables)

    def __call__(self, x: Any, training: bool) -> tf.Tensor:
        """Rows of the table, or all -> the same shape; a training call takes the table's range anew."""
        if training:
            _TABLE(tf.cast(tf.convert_to_tensor(self.layer.embeddings), tf.float32), True, self._variables)
        return in_float32(lambda x: _TABLE(x, False, self._variables), x)

    def range(self) -> tuple[float, float]:
        """(smallest, largest) value of the grid."""
        return _read(self._variables)

    def variables(self) -> list[tf.Variable]:
        """What training moves."""
        return list(self._variables.values())


def round_rows(x: tf.Tensor, training: bool) -> tf.Tensor:
    """Each row on an int8 grid of its own, from its smallest to its largest value and zero, as LiteRT finds it.

    A row is what one product with a kernel reads: the last axis, of an attention's context (batch, heads, length, size)
    those of all heads together.
    """
    axes = (1, 3) if len(x.shape) == 4 else (-1,)
    return in_float32(lambda x: _round_rows(x, axes), x)


def _round_rows(x: tf.Tensor, axes: tuple[int, ...]) -> tf.Tensor:
    low = tf.minimum(tf.reduce_min(x, axes, keepdims=True), 0.0)
    high = tf.maximum(tf.reduce_max(x, axes, keepdims=True), 0.0)
    scale = tf.maximum(tf.stop_gradient(high - low), 1e-9) / 255.0
    steps = x / scale
    return (steps + tf.stop_gradient(tf.round(steps) - steps)) * scale


def in_float32(rounding: Callable[[tf.Tensor], tf.Tensor], x: Any) -> tf.Tensor:
    """The fake-quantization ops know float32 only."""
    x = tf.convert_to_tensor(x)
    return tf.cast(rounding(tf.cast(x, tf.float32)), x.dtype)


class _RangeVariables:
    """Stands in for the layer that owns a tfmot quantizer's variables."""

    def add_weight(self, name: str, initializer: Any, trainable: bool, shape: int | None = None) -> tf.Variable:
        start = initializer(() if shape is None else (shape,))
        return tf.Variable(start, trainable=trainable, name=name, aggregation=tf.VariableAggregation.MEAN)


def _read(variables: Mapping[str, tf.Variable]) -> tuple[float, float]:
    low, high = (float(tf.convert_to_tensor(variables[name])) for name in ("min_var", "max_var"))
    return low, high
