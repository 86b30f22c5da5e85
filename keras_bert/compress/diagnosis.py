"""Which layers rounding hurts, and what leaving them float gains."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_bert.compress.quantize import QuantizationAware, taps_around
from keras_bert.compress.ranges import taps
from keras_bert.layers.tap import Tap
from keras_bert.options.quantization import RECIPES, RecipeName

Array = np.ndarray[Any, Any]

# Rows that are looked at together.
_ROWS = 32


class Finding(NamedTuple):
    """What rounding does to one layer whose product reads a kernel.

    Attributes:
        layer: its path.
        kernel_db: signal to noise of the rounded kernel, 10 log10(mean w^2 / mean error^2).
        output_db: that of what the product gives, rounded as the recipe says; None where that stays float.
        low: the smallest value of the output's grid; None likewise.
        high: the largest.
        usual: the 99.9th percentile of the sizes of the output's values: a range much wider than that is spent on few.
        gain: share of the rounded model's distance from the float one that is gone where this layer alone is float.
        weights: of its kernel.
        extra_bytes: that the file has more then.
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


class Diagnosis:
    """A float model beside what rounding makes of it, without a training.

    Args:
        network: with one output; it is rounded from here on.
        batches: inputs that the ranges start from.
        rows: inputs (rows, length) to look at.
        recipe: a key of `RECIPES`; one with integers.

    Attributes:
        distance: mean squared difference of the rounded model's outputs, over the mean square of the float one's.
    """

    def __init__(
        self,
        network: keras.Model,
        batches: Sequence[Mapping[str, Any]],
        rows: Mapping[str, Array],
        recipe: RecipeName,
    ) -> None:
        self._network, self._rows, self._recipe = network, rows, RECIPES[recipe]
        self._float = self._run()
        self.aware = QuantizationAware(network, batches, recipe)
        self._ranges = self.aware.ranges()
        self.distance = self.distance_with(())

    def distance_with(self, float_layers: Sequence[str]) -> float:
        """The distance where the products of some layers stay float."""
        with self.aware.left_float(float_layers):
            found = self._run()
        return float(np.square(found - self._float).mean() / max(float(np.square(self._float).mean()), 1e-30))

    def find(self, on_progress: Callable[[int, int], None] = lambda done, total: None) -> list[Finding]:
        """All layers, those that hurt most first."""
        noise, layers = self._listen(), list(self.aware.kernels.items())
        found = []
        for number, (path, layer) in enumerate(layers):
            on_progress(number, len(layers))
            kernel = np.asarray(layer.kernel, np.float64)
            error = np.asarray(layer.kernel_transform(layer.kernel), np.float64) - kernel
            tap = next((tap for tap in taps_around(path) if tap in self._ranges), None)
            low, high = self._ranges[tap] if tap else (None, None)
            heard = noise[tap] if tap else None
            without = self.distance_with((path,))
            found.append(
                Finding(
                    layer=path,
                    kernel_db=_decibels(np.square(kernel).mean(), np.square(error).mean()),
                    output_db=None if heard is None else _decibels(heard.signal, heard.error),
                    low=low,
                    high=high,
                    usual=None if heard is None else heard.usual,
                    gain=1 - without / self.distance if self.distance else 0.0,
                    weights=kernel.size,
                    extra_bytes=kernel.size * (32 - self._recipe.weight_bits) // 8,
                )
            )
        return sorted(found, key=lambda finding: -finding.gain)

    def _run(self) -> Array:
        # `predict` would trace the model anew for each layer that is left float, which takes twice as long.
        starts = range(0, len(self._rows["token_ids"]), _ROWS)
        parts = ({name: rows[start : start + _ROWS] for name, rows in self._rows.items()} for start in starts)
        return np.concatenate([np.asarray(self._network(part, training=False), np.float64) for part in parts])

    def _listen(self) -> "dict[str, _Noise]":
        """Path of a rounded tap -> what its rounding does to the rows."""
        opened = taps(self._network)
        noise = {path: _Noise(opened[path]) for path in self._ranges}
        try:
            self._network(dict(self._rows), training=False)
        finally:
            for each in noise.values():
                each.close()
        return noise


class _Noise:
    """Listens at a tap to what its transform takes and gives, when the model runs eagerly.

    Attributes:
        signal: mean square of what came.
        error: of what rounding changed.
        usual: see `Finding`.
    """

    signal = error = usual = 0.0

    def __init__(self, tap: Tap) -> None:
        self._tap, self._before = tap, tap.transform
        tap.transform = self

    def __call__(self, x: Any, training: bool) -> Any:
        assert self._before is not None
        rounded = self._before(x, training)
        plain, changed = (tf.cast(value, tf.float32).numpy() for value in (x, rounded))
        self.signal, self.error = float(np.square(plain).mean()), float(np.square(changed - plain).mean())
        self.usual = float(np.percentile(np.abs(plain), 99.9))
        return rounded

    def close(self) -> None:
        """The tap is as it was."""
        self._tap.transform = self._before


def fewest_float(
    order: Sequence[str], score: Callable[[Sequence[str]], float], wanted: float
) -> Iterator[tuple[list[str], float]]:
    """Sets of layers to leave float, and what each scores: more and more of them until the score is reached.

    Then those are rounded again, the least worthy first, without which it stays reached: the last set is the answer
    where it reaches the score, and else nothing does.

    Args:
        order: the layers, those first that hurt most.
        score: of the model with some layers float; higher is better.
        wanted: the least score.
    """
    chosen: list[str] = []
    found = score(chosen)
    yield list(chosen), found
    for layer in order:
        if found >= wanted:
            break
        chosen.append(layer)
        found = score(chosen)
        yield list(chosen), found
    if found < wanted:
        return
    for layer in list(reversed(chosen[:-1])):
        fewer = [other for other in chosen if other != layer]
        value = score(fewer)
        if value >= wanted:
            chosen = fewer
            yield list(chosen), value


def _decibels(signal: float, error: float) -> float:
    return float(10 * np.log10(max(signal, 1e-30) / max(error, 1e-30)))
