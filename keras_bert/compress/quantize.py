"""Quantization-aware training (Jacob et al. 2018, section 3) with the quantizers of tfmot, on Keras 3.

The model is not copied or rewritten: its taps and kernels are opened, and closed again when done.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import keras
import tensorflow as tf

from keras_bert.compress.ranges import Ranges, forget_traces, sublayers
from keras_bert.layers.attention import SelfAttention
from keras_bert.layers.dense import Dense
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.layers.heads import Pooler
from keras_bert.layers.tap import Tap

# tfmot turns the whole process to Keras 2 when it is imported; its quantizers need no Keras at all.
_legacy_keras = os.environ.get("TF_USE_LEGACY_KERAS")
from tensorflow_model_optimization.python.core.quantization.keras import quantizers  # noqa: E402

os.environ.pop("TF_USE_LEGACY_KERAS", None)
if _legacy_keras is not None:
    os.environ["TF_USE_LEGACY_KERAS"] = _legacy_keras

BITS = 8

# TFLite's int8 kernels fix the grids of two results (quantization specification, SOFTMAX and TANH):
# steps of 1/256 from 0, and steps of 1/128 from -1.
SOFTMAX_RANGE = (0.0, 255 / 256)
TANH_RANGE = (-1.0, 127 / 128)

# A score this far below the largest of its row keeps a share of e^-10 of the attention: below an
# int8 step of the probabilities even when 80 of them add up. Clipping there spares the grid the masked scores.
SCORE_MARGIN = 10.0

_KERNEL = quantizers.LastValueQuantizer(num_bits=BITS, per_axis=True, symmetric=True, narrow_range=True)
_TABLE = quantizers.LastValueQuantizer(num_bits=BITS, per_axis=False, symmetric=False, narrow_range=False)
_ACTIVATION = quantizers.MovingAverageQuantizer(num_bits=BITS, per_axis=False, symmetric=False, narrow_range=False)


# Ends of the paths of taps that stay float by default. Attention scores and residual sums gain nothing from int8:
# XNNPACK runs them faster in float than LiteRT's integer kernels do (4.5 against 4.9 ms for L4 H256 at 128
# tokens), and more exactly. Without a grid on the query its scaling folds into the projection.
FLOATING = ("query/output_tap", "scores_tap", "sum_tap")


class QuantizationAware:
    """A model whose kernels and activations are rounded to int8 grids while it trains and runs.

    Kernels get one symmetric grid a column, found anew at every call; activations one grid a tap, whose
    range is a moving average over the training batches. Gradients pass straight through the rounding.
    Train the model as usual, then call `finish`; until then every call of the model is rounded, and
    `training=True` also moves the ranges.

    Args:
        model: any model made of this package's layers; under `tf.distribute`, make this object in the same scope.
        batches: inputs of the model, the more varied the better; the ranges start from what they show.
        floating: ends of the paths of taps whose activations stay float; () for as many integers as can be.
            What makes the model's logits is always float: rounding it would make ties.

    Raises:
        ValueError: there are no batches.
    """

    def __init__(self, model: keras.Model, batches: Iterable[Any], floating: Iterable[str] = FLOATING) -> None:
        self._model = model
        heads = {layer.path for layer in model.layers if isinstance(layer, Dense)}
        left = (*floating, *(f"{path}/output_tap" for path in heads))
        self._kernels = {path: layer for path, layer in sublayers(model, Dense).items() if path not in heads}
        self._taps = {path: tap for path, tap in sublayers(model, Tap).items() if not path.endswith(left)}
        special = _special_grids(model)
        self._grids = {path: special.get(path) or _MovingGrid() for path in self._taps}
        self._calibrate(batches)
        for layer in self._kernels.values():
            layer.kernel_transform = _KernelGrid(layer.kernel.shape)
        for path, tap in self._taps.items():
            tap.transform = self._grids[path]
        forget_traces(model)

    def ranges(self) -> Ranges:
        """Path of each rounded tap -> (smallest, largest) value of its grid."""
        return {path: self._grids[path].range() for path in self._taps}

    def finish(self) -> Ranges:
        """Writes the rounded weights into the model and lets go of it.

        From here on the model is an ordinary one whose kernels and token table lie on their int8 grids;
        its activations are float again until `fixed_ranges` rounds them.

        Returns:
            What `ranges` says: `save_ranges` keeps it beside the model.
        """
        for layer in self._kernels.values():
            layer.kernel.assign(layer.kernel_transform(layer.kernel))
            layer.kernel_transform = None
        for path, tap in self._taps.items():
            tap.transform = None
            grid = self._grids[path]
            if isinstance(grid, _TableGrid):
                grid.layer.embeddings.assign(grid(grid.layer.embeddings, training=True))
        forget_traces(self._model)
        return self.ranges()

    def _calibrate(self, batches: Iterable[Any]) -> None:
        """Starts every moving range at the mean of what the batches show: an average over so few
        training steps would never get there."""
        grids = {path: grid for path, grid in self._grids.items() if isinstance(grid, _MovingGrid)}
        for path, grid in grids.items():
            self._taps[path].transform = grid.observe
        empty = True
        for batch in batches:
            self._model(batch, training=False)
            empty = False
        if empty:
            raise ValueError("QuantizationAware.batches must hold at least one batch, got none")
        for grid in grids.values():
            grid.start()


class _RangeVariables:
    """Stands in for the layer that owns a tfmot quantizer's variables."""

    def add_weight(self, name: str, initializer: Any, trainable: bool, shape: int | None = None) -> tf.Variable:
        start = initializer(() if shape is None else (shape,))
        return tf.Variable(start, trainable=trainable, name=name, aggregation=tf.VariableAggregation.MEAN)


class _KernelGrid:
    """One symmetric grid a column, as wide as the column's largest weight is now."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._variables = _KERNEL.build(shape, "kernel", _RangeVariables())

    def __call__(self, kernel: Any) -> tf.Tensor:
        """(inputs, units) -> (inputs, units)."""
        return _in_float32(lambda x: _KERNEL(x, True, self._variables), kernel)


class _MovingGrid:
    """One grid for a tensor, its range a moving average over training batches.

    Args:
        limit: applied to the tensor before its range is looked at.
    """

    def __init__(self, limit: Callable[[tf.Tensor], tf.Tensor] = tf.identity) -> None:
        self._variables = _ACTIVATION.build(None, "activation", _RangeVariables())
        self._limit = limit
        self._seen: list[tuple[float, float]] = []

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        return _in_float32(lambda x: _ACTIVATION(self._limit(x) if training else x, training, self._variables), x)

    def observe(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        """Notes the range of a tensor and passes it on."""
        limited = self._limit(tf.cast(x, tf.float32))
        self._seen.append((float(tf.reduce_min(limited)), float(tf.reduce_max(limited))))
        return x

    def start(self) -> None:
        """Sets the range to the mean of what was seen; it must hold zero, and more than zero."""
        lows, highs = zip(*self._seen, strict=True)
        self._variables["min_var"].assign(min(sum(lows) / len(lows), 0.0))
        self._variables["max_var"].assign(max(sum(highs) / len(highs), 1e-6))

    def range(self) -> tuple[float, float]:
        return _read(self._variables)


class _TableGrid:
    """The grid of a whole embedding table: a row that no batch showed must not be clipped."""

    def __init__(self, layer: TokenEmbedding) -> None:
        self.layer = layer
        self._variables = _TABLE.build(None, "table", _RangeVariables())
        _TABLE(tf.convert_to_tensor(layer.embeddings), True, self._variables)

    def __call__(self, x: Any, training: bool) -> tf.Tensor:
        if training:
            _TABLE(tf.cast(tf.convert_to_tensor(self.layer.embeddings), tf.float32), True, self._variables)
        return _in_float32(lambda x: _TABLE(x, False, self._variables), x)

    def range(self) -> tuple[float, float]:
        return _read(self._variables)


class _FixedGrid:
    """A grid that the device's kernel dictates."""

    def __init__(self, low: float, high: float) -> None:
        self._range = (low, high)

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        return _in_float32(lambda x: tf.quantization.fake_quant_with_min_max_args(x, *self._range), x)

    def range(self) -> tuple[float, float]:
        return self._range


_Grid = _MovingGrid | _TableGrid | _FixedGrid


def _special_grids(model: keras.Model) -> dict[str, _Grid]:
    """The grids of the taps whose range is known from what they stand behind."""
    grids: dict[str, _Grid] = {}
    for layer in sublayers(model, SelfAttention).values():
        grids[layer.scores_tap.path] = _MovingGrid(_without_masked_scores)
        grids[layer.probabilities_tap.path] = _FixedGrid(*SOFTMAX_RANGE)
    for layer in sublayers(model, Pooler).values():
        grids[layer.output_tap.path] = _FixedGrid(*TANH_RANGE)
    for layer in sublayers(model, TokenEmbedding).values():
        grids[layer.output_tap.path] = _TableGrid(layer)
    return grids


def _without_masked_scores(scores: tf.Tensor) -> tf.Tensor:
    """Lifts what gets no attention to a floor: `SCORE_MARGIN` below the row whose largest score is smallest."""
    floor = tf.reduce_min(tf.reduce_max(scores, axis=-1)) - SCORE_MARGIN
    return tf.maximum(scores, tf.stop_gradient(floor))


def _in_float32(rounding: Callable[[tf.Tensor], tf.Tensor], x: Any) -> tf.Tensor:
    """The fake-quantization ops know float32 only."""
    x = tf.convert_to_tensor(x)
    return tf.cast(rounding(tf.cast(x, tf.float32)), x.dtype)


def _read(variables: Mapping[str, tf.Variable]) -> tuple[float, float]:
    return float(variables["min_var"]), float(variables["max_var"])
