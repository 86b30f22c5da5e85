"""The output layer of regression: it learns standardized targets, and its outputs are in the unit of the targets."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.core.target_scale import TargetScale
from keras_bert.core.tensors import Tensor
from keras_bert.layers.dense import Dense


@keras.saving.register_keras_serializable("keras_bert")
class RegressionHead(Dense):
    """A dense output layer in the unit of the targets: mean + standard_deviation * (x W + b).

    W and b learn standardized targets. With targets between 3,400 and 7,000, a plain x W + b would need thousands of
    steps of Adam to reach them. Mean and standard deviation are weights that are not trained: all models that share
    the head, and their compiled functions, use the same scale. The outputs are float32 with every dtype policy.
    """

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        super().build(input_shape)
        self.mean = self._add_scalar("mean", "zeros")
        self.standard_deviation = self._add_scalar("standard_deviation", "ones")

    def _add_scalar(self, name: str, initializer: str) -> Any:
        return self.add_weight(name=name, shape=(), initializer=initializer, trainable=False, autocast=False)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(batch, inputs) -> (batch, units) float32, in the unit of the targets."""
        # Half precision cannot resolve small differences around a mean that is far from 0.
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

    def standardize(self, answers: TargetScale, scale: TargetScale) -> None:
        """Makes outputs on the scale `answers` outputs on `scale`; the head's own scale must be the default."""
        self.kernel.assign(self.kernel / answers.standard_deviation)
        self.bias.assign((self.bias - answers.mean) / answers.standard_deviation)
        self.scale = scale

    @property
    def is_untrained(self) -> bool:
        """True if the scale was never set and the bias is 0, which a step of training changes."""
        return self.scale == TargetScale() and not np.any(self.bias.numpy())


def plain_weights(model: keras.Model) -> list[Any]:
    """The weights of a model without the scales of its regression heads, which other libraries do not support."""
    scales = {weight.path for head in _heads(model) for weight in (head.mean, head.standard_deviation)}
    return [weight for weight in model.weights if weight.path not in scales]


def folded_heads(model: keras.Model) -> dict[str, Any]:
    """Folds the scales of a model's regression heads into W and b: path of the weight -> array, float32."""
    folded = {}
    for head in _heads(model):
        mean, deviation = (np.float32(value) for value in head.scale)
        folded[head.kernel.path] = head.kernel.numpy() * deviation
        folded[head.bias.path] = head.bias.numpy() * deviation + mean
    return folded


def reset_scale(model: keras.Model) -> None:
    """Resets the scale of a model's regression heads, if there are any, to mean 0 and standard deviation 1."""
    for head in _heads(model):
        head.scale = TargetScale()


def _heads(model: keras.Model) -> list[RegressionHead]:
    return [layer for layer in model.layers if isinstance(layer, RegressionHead)]
