"""Magnitude pruning (Han et al. 2015) with the schedule of tfmot, on Keras 3.

Pruned weights are zero after every step: models compute as before, and need no masks after the training.
"""

import keras
import tensorflow as tf

from keras_bert.compress.tfmot import pruning_schedule, pruning_utils
from keras_bert.options.compression import Pruning
from keras_bert.training.masks import Masks

# The number of times that masks are recomputed while the sparsity rises.
_MASKS = 50


class MagnitudePruning(Masks):
    """Prunes the smallest weights of each kernel, more of them from step to step."""

    def __init__(self, model: keras.Model, settings: Pruning, steps: int) -> None:
        super().__init__(model)
        self._settings = settings
        self._end = max(1, round(settings.ramp * steps))
        self._every = max(1, self._end // _MASKS)
        self._schedule = pruning_schedule.PolynomialDecay(0.0, settings.sparsity, 0, self._end, frequency=self._every)

    def after_step(self, number: int) -> None:
        """Computes new masks if the sparsity has risen, and applies the masks; zeros stay zero."""
        if number == self._end or (number < self._end and number % self._every == 0):
            _, sparsity = self._schedule(tf.constant(number))
            for path, layer in self.kernels.items():
                # Zeros of an earlier pruning may be more than the share of this one, and stay zero.
                mask = self._masks[path]
                mask.assign(mask * self._find_mask(layer.kernel.value * mask, float(sparsity)))
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
