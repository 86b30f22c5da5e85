"""The exponential moving average of weights over the steps of a training."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


class RunningMean:
    """An exponential moving average of weights (Polyak and Juditsky 1992), of which a step keeps the share `decay`.

    Create and use it under the scope of the strategy of the weights. Without weights all methods do nothing.
    """

    def __init__(self, weights: Sequence[Any], decay: float) -> None:
        self._weights, self._decay = weights, decay
        self.variables = [tf.Variable(weight.value) for weight in weights]
        self._move = tf.function(self._update, autograph=False)

    def update(self, step: int) -> None:
        """Updates the means after a step, counted from 1; early steps decay faster, as in `tf.train`'s averages."""
        if self.variables:
            self._move(tf.constant(step, tf.float32))

    def _update(self, step: Any) -> None:
        decay = tf.minimum(self._decay, (1.0 + step) / (10.0 + step))
        for mean, weight in zip(self.variables, self._weights, strict=True):
            mean.assign(decay * mean + (1.0 - decay) * weight.value)

    def swap(self) -> None:
        """Exchanges weights and means."""
        for mean, weight in zip(self.variables, self._weights, strict=True):
            current = weight.numpy()
            weight.assign(mean.numpy())
            mean.assign(current)

    def reset(self) -> None:
        """Sets the means to the weights."""
        for mean, weight in zip(self.variables, self._weights, strict=True):
            mean.assign(weight.value)
