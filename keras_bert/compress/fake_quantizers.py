"""Fake quantization of kernels and activations with the quantizers of tfmot, with straight-through gradients."""

from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

from keras_bert.compress.ranges import HEADROOM, is_symmetric
from keras_bert.compress.tfmot import quantizers

_TABLE = quantizers.LastValueQuantizer(num_bits=8, per_axis=False, symmetric=False, narrow_range=False)


class KernelQuantizer:
    """Quantizes a kernel (inputs, units) symmetrically, with one scale for each unit, or for each block of its inputs.

    The scale follows from the largest weight at each call.
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
        """Quantizes a kernel (inputs, units); the shape stays."""
        return quantize_in_float32(self._quantize, kernel)

    def _quantize(self, kernel: tf.Tensor) -> tf.Tensor:
        blocks = self._inputs // self._block
        by_block = tf.transpose(tf.reshape(kernel, (blocks, self._block, self._units)), (1, 0, 2))
        quantized = self._quantizer(tf.reshape(by_block, (self._block, -1)), True, self._variables)
        restored = tf.transpose(tf.reshape(quantized, (self._block, blocks, self._units)), (1, 0, 2))
        return tf.reshape(restored, (self._inputs, self._units))


class Float16Kernel:
    """Rounds kernels to float16."""

    def __call__(self, kernel: Any) -> tf.Tensor:
        """Rounds a kernel (inputs, units) to float16; shape and dtype stay."""
        return round_to_float16(tf.convert_to_tensor(kernel))


@tf.custom_gradient
def round_to_float16(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[Any], Any]]:
    """Rounds each number to the nearest float16; the gradient passes straight through."""
    return tf.cast(tf.cast(x, tf.float16), x.dtype), lambda gradient: gradient


class LearnedRange:
    """A quantization grid over a range that training updates."""

    _variables: Mapping[str, tf.Variable]

    def range(self) -> tuple[float, float]:
        """Returns the smallest and the largest value of the quantization grid."""
        low, high = (float(tf.convert_to_tensor(self._variables[name])) for name in ("min_var", "max_var"))
        return low, high

    def variables(self) -> list[tf.Variable]:
        """The variables that training updates: the ends of the range."""
        return list(self._variables.values())


class ActivationQuantizer(LearnedRange):
    """Quantizes a tensor to 8 or 16 bits with one scale and zero point, and learns the range from training batches.

    With 8 bits the range is a moving average over the batches; if `centred`, it is from -128 to 127 steps, so that 0 is
    in the middle. With 16 bits the range is symmetric around 0, see `is_symmetric`. It is at first `HEADROOM` times as
    wide as the values of calibration, and then covers the values of all batches: its steps are fine enough for that.
    """

    def __init__(self, bits: int = 8, centred: bool = False) -> None:
        self._wide = is_symmetric(bits)
        # The ratio of the smallest to the largest value of a symmetric grid.
        self._ratio = -1.0 if self._wide else -128 / 127 if centred else None
        kind = quantizers.AllValuesQuantizer if self._wide else quantizers.MovingAverageQuantizer
        symmetric = self._ratio is not None
        self._quantizer = kind(num_bits=bits, per_axis=False, symmetric=symmetric, narrow_range=self._wide)
        self._variables = self._quantizer.build(None, "activation", _RangeVariables())
        self._observed: list[tuple[float, float]] = []

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        """Quantizes a tensor of any shape; a training call updates the range."""
        return quantize_in_float32(lambda x: self._quantizer(x, training, self._variables), x)

    def observe(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        """Records the range of a tensor and returns the tensor."""
        self._observed.append((float(tf.reduce_min(x)), float(tf.reduce_max(x))))
        return x

    def start(self) -> bool:
        """Sets the range by the recorded ranges; it contains 0 and is not empty. False if there are none."""
        if not self._observed:
            return False
        lows, highs = zip(*self._observed, strict=True)
        if self._wide:
            low, high = (HEADROOM * end for end in (min(lows), max(highs)))
        else:
            low, high = (sum(ends) / len(ends) for ends in (lows, highs))
        low, high = min(low, 0.0), max(high, 1e-6)
        if self._ratio is not None:
            high = max(high, low / self._ratio)
            low = self._ratio * high
        self._variables["min_var"].assign(low)
        self._variables["max_var"].assign(high)
        return True


class TableQuantizer(LearnedRange):
    """Quantizes a layer's `embeddings` with the range of the whole table, so that rows in no batch are not clipped."""

    def __init__(self, layer: keras.layers.Layer) -> None:
        self.layer = layer
        self._variables = _TABLE.build(None, "table", _RangeVariables())
        _TABLE(tf.convert_to_tensor(layer.embeddings), True, self._variables)

    def __call__(self, x: Any, training: bool) -> tf.Tensor:
        """Quantizes rows of the table, or the table; a training call measures the table's range again."""
        if training:
            _TABLE(tf.cast(tf.convert_to_tensor(self.layer.embeddings), tf.float32), True, self._variables)
        return quantize_in_float32(lambda x: _TABLE(x, False, self._variables), x)


def quantize_rows(x: tf.Tensor, training: bool) -> tf.Tensor:
    """Quantizes each row to int8 with the range of the row, widened to hold 0, as LiteRT's dynamic-range kernels do.

    A row is the input of one product with a kernel: the last axis; for an attention's context
    (batch, heads, length, size) the values of all heads together.
    """
    axes = (1, 3) if len(x.shape) == 4 else (-1,)

    def quantize(x: tf.Tensor) -> tf.Tensor:
        low = tf.minimum(tf.reduce_min(x, axes, keepdims=True), 0.0)
        high = tf.maximum(tf.reduce_max(x, axes, keepdims=True), 0.0)
        scale = tf.maximum(tf.stop_gradient(high - low), 1e-9) / 255.0
        steps = x / scale
        return (steps + tf.stop_gradient(tf.round(steps) - steps)) * scale

    return quantize_in_float32(quantize, x)


def quantize_in_float32(quantize: Callable[[tf.Tensor], tf.Tensor], x: Any) -> tf.Tensor:
    """Applies a function in float32, as the fake-quantization operations only exist in float32; the dtype stays."""
    x = tf.convert_to_tensor(x)
    return tf.cast(quantize(tf.cast(x, tf.float32)), x.dtype)


class _RangeVariables:
    """Makes the variables of a tfmot quantizer, instead of a layer."""

    def add_weight(self, name: str, initializer: Any, trainable: bool, shape: int | None = None) -> tf.Variable:
        start = initializer(() if shape is None else (shape,))
        return tf.Variable(start, trainable=trainable, name=name, aggregation=tf.VariableAggregation.MEAN)
