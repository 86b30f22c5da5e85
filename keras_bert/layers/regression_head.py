"""The last layer of a regression: it learns standardized numbers, and answers in the unit of the targets."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.layers.dense import Dense
from keras_bert.target_scale import TargetScale
from keras_bert.tensors import Tensor


@keras.saving.register_keras_serializable("keras_bert")
class RegressionHead(Dense):
    """mean + standard_deviation * (x W + b), in float32 whatever the layer computes in.

    W and b learn numbers around 0, whatever the targets are: with targets of 3,400 to 7,000 a plain x W + b starts
    thousands of steps of Adam away from them. The scale is kept in weights that do not train, so that every model on
    this head, and every function that was compiled of one, answers on the same scale.

    Examples:
        >>> head = RegressionHead(1)
        >>> head.build((None, 8))
        >>> head.scale = TargetScale(mean=5200.0, standard_deviation=1800.0)
        >>> np.asarray(head(ops.zeros((2, 8)))).tolist()
        [[5200.0], [5200.0]]
    """

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes W (inputs, units), b (units,) and the scale: 0 and 1, which changes nothing."""
        super().build(input_shape)
        self.mean = self._add_scalar("mean", "zeros")
        self.standard_deviation = self._add_scalar("standard_deviation", "ones")

    def _add_scalar(self, name: str, initializer: str) -> Any:
        return self.add_weight(name=name, shape=(), initializer=initializer, trainable=False, autocast=False)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(batch, inputs) -> (batch, units) float32, in the unit of the targets."""
        # Half precision has no room for a mean that is far from 0.
        standardized = ops.cast(super().call(inputs, training=training), "float32")
        return ops.add(ops.multiply(standardized, self.standard_deviation), self.mean)

    @property
    def scale(self) -> TargetScale:
        """The scale of the targets."""
        return TargetScale(float(self.mean.numpy()), float(self.standard_deviation.numpy()))

    @scale.setter
    def scale(self, scale: TargetScale) -> None:
        self.mean.assign(scale.mean)
        self.standard_deviation.assign(scale.standard_deviation)

    @property
    def is_new(self) -> bool:
        """Whether the head has neither a scale nor a step of training, which moves the bias away from 0."""
        return self.scale == TargetScale() and not np.any(self.bias.numpy())


def plain_weights(model: keras.Model) -> list[Any]:
    """The weights of a model without the scales of its regression heads, which other libraries do not have.

    Examples:
        >>> inputs = keras.Input((8,))
        >>> model = keras.Model(inputs, RegressionHead(1, name="regressor")(inputs))
        >>> [weight.path for weight in plain_weights(model)]
        ['regressor/kernel', 'regressor/bias']
    """
    scales = {weight.path for head in _heads(model) for weight in (head.mean, head.standard_deviation)}
    return [weight for weight in model.weights if weight.path not in scales]


def folded_heads(model: keras.Model) -> dict[str, Any]:
    """Path -> W and b, float32, of a plain x W + b that gives the same answers as the head with its scale.

    Examples:
        >>> inputs, head = keras.Input((8,)), RegressionHead(1, name="regressor")
        >>> model = keras.Model(inputs, head(inputs))
        >>> head.scale = TargetScale(mean=5200.0, standard_deviation=1800.0)
        >>> folded_heads(model)["regressor/bias"].tolist()
        [5200.0]
    """
    folded = {}
    for head in _heads(model):
        mean, deviation = (np.float32(value) for value in head.scale)
        folded[head.kernel.path] = head.kernel.numpy() * deviation
        folded[head.bias.path] = head.bias.numpy() * deviation + mean
    return folded


def forget_scale(model: keras.Model) -> None:
    """Resets the scale of a model's regression head, if it has one: it then answers with x W + b.

    Examples:
        >>> inputs, head = keras.Input((8,)), RegressionHead(1)
        >>> model = keras.Model(inputs, head(inputs))
        >>> head.scale = TargetScale(mean=5200.0, standard_deviation=1800.0)
        >>> forget_scale(model)
        >>> head.scale
        TargetScale(mean=0.0, standard_deviation=1.0)
    """
    for head in _heads(model):
        head.scale = TargetScale()


def _heads(model: keras.Model) -> list[RegressionHead]:
    return [layer for layer in model.layers if isinstance(layer, RegressionHead)]
