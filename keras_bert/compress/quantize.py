"""Quantization-aware training (Jacob et al. 2018, section 3) with the quantizers of tfmot, on Keras 3.

The model is not copied or rewritten: its taps and kernels are opened, and closed again when done.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import keras
import tensorflow as tf

from keras_bert.compress.ranges import Ranges, sublayers, taps
from keras_bert.layers.dense import Dense
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.models.traces import forget_traces

# tfmot turns the whole process to Keras 2 when it is imported; its quantizers need no Keras at all.
_legacy_keras = os.environ.get("TF_USE_LEGACY_KERAS")
from tensorflow_model_optimization.python.core.quantization.keras import quantizers  # noqa: E402

os.environ.pop("TF_USE_LEGACY_KERAS", None)
if _legacy_keras is not None:
    os.environ["TF_USE_LEGACY_KERAS"] = _legacy_keras

BITS = 8

_KERNEL = quantizers.LastValueQuantizer(num_bits=BITS, per_axis=True, symmetric=True, narrow_range=True)
_TABLE = quantizers.LastValueQuantizer(num_bits=BITS, per_axis=False, symmetric=False, narrow_range=False)
_ACTIVATION = quantizers.MovingAverageQuantizer(num_bits=BITS, per_axis=False, symmetric=False, narrow_range=False)


# Ends of the paths of the taps that stay float. Products of matrices with weights read and write int8; attention,
# residual sums, GELU, tanh and LayerNorm between them run in float: XNNPACK knows them in float only, and LiteRT's
# own integer kernels take longer (an L4 H256 at 128 tokens: 4.9 ms, against 2.0 ms this way and 8.5 ms in float32).
# Without a grid on the query its scaling folds into the projection.
FLOATING = ("query/output_tap", "scores_tap", "probabilities_tap", "sum_tap", "pooler/output_tap")


class QuantizationAware:
    """A model whose kernels and activations are rounded to int8 grids while it trains and runs.

    Kernels get one symmetric grid a column, found anew at every call; activations one grid a tap, whose
    range is a moving average over the training batches. Gradients pass straight through the rounding.
    Train the model as usual, then call `finish`; until then every call of the model is rounded, and
    `training=True` also moves the ranges.

    Args:
        model: any model made of this package's layers; under `tf.distribute`, make this object in the same scope.
        batches: inputs of the model, the more varied the better; the ranges start from what they show.

    Raises:
        ValueError: there are no batches.
    """

    def __init__(self, model: keras.Model, batches: Iterable[Any]) -> None:
        self._model = model
        # What makes the logits stays float: on a grid they would tie.
        heads = {layer.path for layer in model.layers if isinstance(layer, Dense)}
        left = (*FLOATING, *(f"{path}/output_tap" for path in heads))
        self._kernels = {path: layer for path, layer in sublayers(model, Dense).items() if path not in heads}
        self._taps = {path: tap for path, tap in taps(model).items() if not path.endswith(left)}
        tables = {f"{path}/output_tap": layer for path, layer in sublayers(model, TokenEmbedding).items()}
        self._grids = {path: _TableGrid(tables[path]) if path in tables else _MovingGrid() for path in self._taps}
        self._calibrate(batches)
        for layer in self._kernels.values():
            layer.kernel_transform = _KernelGrid(layer.kernel.shape)
        for path, tap in self._taps.items():
            tap.transform = self._grids[path]
        forget_traces(model)

    def ranges(self) -> Ranges:
        """Path of each rounded tap -> (smallest, largest) value of its grid."""
        return {path: self._grids[path].range() for path in self._taps}

    def variables(self) -> list[tf.Variable]:
        """What training moves besides the weights: the ends of the ranges."""
        return [variable for path in self._taps for variable in self._grids[path].variables()]

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
        """Starts every moving range at the mean of what the batches show.

        tfmot's moving average forgets 0.1 % a step: from its own start it would not arrive in a short training.
        """
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
    """One grid for a tensor, its range a moving average over training batches."""

    def __init__(self) -> None:
        self._variables = _ACTIVATION.build(None, "activation", _RangeVariables())
        self._seen: list[tuple[float, float]] = []

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        return _in_float32(lambda x: _ACTIVATION(x, training, self._variables), x)

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
        return _read(self._variables)

    def variables(self) -> list[tf.Variable]:
        return list(self._variables.values())


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

    def variables(self) -> list[tf.Variable]:
        return list(self._variables.values())


def _in_float32(rounding: Callable[[tf.Tensor], tf.Tensor], x: Any) -> tf.Tensor:
    """The fake-quantization ops know float32 only."""
    x = tf.convert_to_tensor(x)
    return tf.cast(rounding(tf.cast(x, tf.float32)), x.dtype)


def _read(variables: Mapping[str, tf.Variable]) -> tuple[float, float]:
    low, high = (float(tf.convert_to_tensor(variables[name])) for name in ("min_var", "max_var"))
    return low, high
