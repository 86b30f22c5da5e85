"""Magnitude pruning (Han et al. 2015) with the schedule of tfmot, on Keras 3.

Pruned weights are zero after every step: models compute as before, and need no masks after the training.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bert.compress.ranges import sublayers
from keras_bert.compress.tfmot import pruning_schedule, pruning_utils
from keras_bert.layers.dense import Dense
from keras_bert.models.traces import check_attached
from keras_bert.options.compression import Pruning

SPARSITY_FILE = "sparsity.json"

# The number of times that masks are recomputed while the sparsity rises.
_MASKS = 50


class Masks:
    """Keeps zeros of a model's kernels zero while it trains; heads, which compute the logits, are not pruned.

    Raises:
        ValueError: the model's adapter is detached.
    """

    def __init__(self, model: keras.Model) -> None:
        check_attached(model)
        heads = {layer.path for layer in model.layers if isinstance(layer, Dense)}
        self.kernels = {path: layer for path, layer in sublayers(model, Dense).items() if path not in heads}
        # The zeros that the kernels have already.
        self._masks = {
            path: tf.Variable(
                tf.cast(layer.kernel.value != 0, tf.float32),
                trainable=False,
                aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
            )
            for path, layer in self.kernels.items()
        }

    def after_step(self, number: int) -> None:
        """Applies the masks after an optimizer step, see `TrainingStep`."""
        for path, layer in self.kernels.items():
            layer.kernel.assign(layer.kernel.value * self._masks[path])

    def variables(self) -> list[tf.Variable]:
        """The variables that a resumed training restores."""
        return list(self._masks.values())

    def sparsity(self) -> float:
        """The share of the kernels' weights that are zero."""
        zeros = sum(int(tf.math.count_nonzero(layer.kernel.value == 0)) for layer in self.kernels.values())
        return zeros / sum(layer.kernel.value.shape.num_elements() for layer in self.kernels.values())


class MagnitudePruning(Masks):
    """Prunes the smallest weights of each kernel, more of them from step to step."""

    def __init__(self, model: keras.Model, settings: Pruning, steps: int) -> None:
        super().__init__(model)
        self._settings = settings
        self._end = max(1, round(settings.ramp * steps))
        self._every = max(1, self._end // _MASKS)
        self._schedule = pruning_schedule.PolynomialDecay(0.0, settings.sparsity, 0, self._end, frequency=self._every)

    def after_step(self, number: int) -> None:
        """Computes new masks if the sparsity has risen, and applies the masks."""
        if number == self._end or (number < self._end and number % self._every == 0):
            _, sparsity = self._schedule(tf.constant(number))
            for path, layer in self.kernels.items():
                self._masks[path].assign(self._find_mask(layer.kernel.value, float(sparsity)))
        super().after_step(number)

    def _find_mask(self, kernel: tf.Tensor, sparsity: float) -> tf.Tensor:
        """Kernel (inputs, units) -> 1 where a weight stays, of the same shape."""
        kernel = tf.convert_to_tensor(kernel)
        if self._settings.pattern == "2:4":
            # Four inputs of a unit side by side.
            mask = pruning_utils.generate_m_by_n_mask(pruning_utils.weights_rearrange(kernel))
            return pruning_utils.m_by_n_sparsity_mask_prepare(mask, kernel.shape)
        size = kernel.shape.num_elements()
        _, places = tf.math.top_k(tf.reshape(tf.abs(kernel), [-1]), size - round(sparsity * size))
        ones = tf.ones_like(places, dtype=tf.float32)
        return tf.reshape(tf.scatter_nd(places[:, tf.newaxis], ones, [size]), kernel.shape)


def save_sparsity(settings: Mapping[str, Any], folder: str | os.PathLike[str]) -> None:
    """Writes `sparsity.json` into an existing folder: later trainings of the model keep its zeros."""
    (Path(folder) / SPARSITY_FILE).write_text(json.dumps(dict(settings), indent=1, sort_keys=True) + "\n")


def find_sparsity(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Reads the settings that `save_sparsity` wrote; None if there is no file."""
    path = Path(folder) / SPARSITY_FILE
    if not path.is_file():
        return None
    content: dict[str, Any] = json.loads(path.read_text())
    return content
