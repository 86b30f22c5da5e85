"""The loss that quantization costs in each layer, and the gain of leaving layers float."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_bert.compress.quantize import QuantizationAware, taps_around
from keras_bert.compress.ranges import taps
from keras_bert.layers.tap import Tap
from keras_bert.models.traces import transformed
from keras_bert.options.quantization import RECIPES, RecipeName

Array = np.ndarray[Any, Any]

# Rows of a batch.
_ROWS = 32


class LayerDiagnosis(NamedTuple):
    """The effect of quantization on one layer with a kernel.

    Attributes:
        layer: the layer's path.
        kernel_db: the signal-to-noise ratio of the quantized kernel, 10 log10(mean w^2 / mean error^2).
        output_db: the ratio of the quantized output of the product; None where it stays float.
        low: the smallest value of the output's quantization grid; None where it stays float.
        high: the largest value of that grid; None where it stays float.
        usual: the 99.9th percentile of the output's absolute values: a much wider range is spent on outliers.
        gain: the share of the quantized model's distance from the float one that vanishes if this layer is float.
        weights: the number of weights in its kernel.
        extra_bytes: the growth of the file if this layer is float.
    """

    layer: str
    kernel_db: float
    output_db: float | None
    low: float | None
    high: float | None
    usual: float | None
    gain: float
    weights: int
    extra_bytes: int


class QuantizationDiagnosis:
    """A float model compared with its quantization without training; the model is quantized from here on.

    `batches` calibrate the ranges, and outputs are compared on `rows` (rows, length). The recipe has integers;
    `float_layers` stay float. `distance` is the mean squared difference of quantized and float outputs, over the mean
    square of float outputs; outputs at padding do not count.
    """

    def __init__(
        self,
        network: keras.Model,
        batches: Sequence[Mapping[str, Any]],
        rows: Mapping[str, Array],
        recipe: RecipeName,
        float_layers: Sequence[str] = (),
    ) -> None:
        self._network, self._rows, self._recipe = network, rows, RECIPES[recipe]
        self._float = self._run()
        self.aware = QuantizationAware(network, batches, recipe, float_layers)
        self._ranges = self.aware.ranges()
        self.distance = self.distance_with(())

    def distance_with(self, float_layers: Sequence[str]) -> float:
        """Returns the distance with the products of some layers left float."""
        with self.aware.float_products(float_layers):
            outputs = self._run()
        return float(np.square(outputs - self._float).mean() / max(float(np.square(self._float).mean()), 1e-30))

    def diagnose_layers(
        self, on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> list[LayerDiagnosis]:
        """Diagnoses all layers; returns those with the largest gain first."""
        all_taps, layers = taps(self._network), list(self.aware.kernels.items())
        noise_by_tap = {path: _Noise(all_taps[path]) for path in self._ranges}
        with transformed(self._network, {all_taps[path]: noise for path, noise in noise_by_tap.items()}):
            self._network(dict(self._rows), training=False)
        diagnoses = []
        for number, (path, layer) in enumerate(layers):
            on_progress(number, len(layers))
            kernel = np.asarray(layer.kernel, np.float64)
            error = np.asarray(layer.kernel_transform(layer.kernel), np.float64) - kernel
            tap = next((tap for tap in taps_around(path) if tap in self._ranges), None)
            low, high = self._ranges[tap] if tap else (None, None)
            noise = noise_by_tap[tap] if tap else None
            without = self.distance_with((path,))
            diagnoses.append(
                LayerDiagnosis(
                    layer=path,
                    kernel_db=_decibels(np.square(kernel).mean(), np.square(error).mean()),
                    output_db=None if noise is None else _decibels(noise.signal, noise.error),
                    low=low,
                    high=high,
                    usual=None if noise is None else noise.usual,
                    gain=1 - without / self.distance if self.distance else 0.0,
                    weights=kernel.size,
                    extra_bytes=kernel.size * (32 - self._recipe.weight_bits) // 8,
                )
            )
        return sorted(diagnoses, key=lambda diagnosis: -diagnosis.gain)

    def _run(self) -> Array:
        # `predict` would trace the model for each layer that is left float, which takes twice as long.
        starts = range(0, len(self._rows["token_ids"]), _ROWS)
        parts = ({name: rows[start : start + _ROWS] for name, rows in self._rows.items()} for start in starts)
        outputs = np.concatenate([np.asarray(self._network(part, training=False), np.float64) for part in parts])
        # Nobody reads outputs at padding; rows are as long as the longest that the model reads.
        return outputs[self._rows["padding_mask"] == 1] if outputs.ndim == 3 else outputs


class _Noise:
    """Measures the input and the error of a tap's transform, when the model runs eagerly: both mean squares."""

    signal = error = usual = 0.0

    def __init__(self, tap: Tap) -> None:
        self._transform = tap.transform

    def __call__(self, x: Any, training: bool) -> Any:
        assert self._transform is not None
        quantized = self._transform(x, training)
        signal, noisy = (tf.cast(value, tf.float32).numpy() for value in (x, quantized))
        self.signal, self.error = float(np.square(signal).mean()), float(np.square(noisy - signal).mean())
        self.usual = float(np.percentile(np.abs(signal), 99.9))
        return quantized


def search_float_layers(
    order: Sequence[str], score: Callable[[Sequence[str]], float], minimum: float
) -> Iterator[tuple[list[str], float]]:
    """Searches a small set of float layers with which a model has a minimum score; yields each set and its score.

    Layers are added, largest gain first, until the score is reached. Then each layer without which the score is still
    reached is quantized again, last one first. The last set is the answer if it reaches the score; else no set does.
    """
    chosen: list[str] = []
    value = score(chosen)
    yield list(chosen), value
    for layer in order:
        if value >= minimum:
            break
        chosen.append(layer)
        value = score(chosen)
        yield list(chosen), value
    if value < minimum:
        return
    for layer in list(reversed(chosen[:-1])):
        fewer = [other for other in chosen if other != layer]
        value = score(fewer)
        if value >= minimum:
            chosen = fewer
            yield list(chosen), value


def _decibels(signal: float, error: float) -> float:
    return float(10 * np.log10(max(signal, 1e-30) / max(error, 1e-30)))
