"""The exponential moving average of weights over the steps of a training."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


class RunningMean:
    """The mean of weights over the last steps, the newest of which count most (Polyak and Juditsky 1992).

    Make it and use it under the scope of the strategy of the weights.

    Args:
        weights: to follow; none for a mean that does nothing.
        decay: how much of the mean stays in a step, below 1.

    Attributes:
        variables: the means, in the order of the weights.
    """

    def __init__(self, weights: Sequence[Any], decay: float) -> None:
        self._weights, self._decay = weights, decay
        self.variables = [tf.Variable(weight.value) for weight in weights]
        self._move = tf.function(self._update, autograph=False)

    def update(self, step: int) -> None:
        """Moves the means after a step, counted from 1; in the first ones they forget faster, as `tf.train`'s do."""
        if self.variables:
            self._move(tf.constant(step, tf.float32))

    def _update(self, step: Any) -> None:
        decay = tf.minimum(self._decay, (1.0 + step) / (10.0 + step))
        for mean, weight in zip(self.variables, self._weights, strict=True):
            mean.assign(decay * mean + (1.0 - decay) * weight.value)

    def swap(self) -> None:
        """Weights and means change places."""
        for mean, weight in zip(self.variables, self._weights, strict=True):
            current = weight.numpy()
            weight.assign(mean.numpy())
            mean.assign(current)
