"""Masks that keep the zeros of a pruned model while it trains."""

from collections.abc import Callable

import keras
import tensorflow as tf

from keras_bert.layers.dense import Dense
from keras_bert.models.encoder import top_layers
from keras_bert.models.traces import check_attached

# A model whose kernels have a smaller share of zeros is dense: checkpoints in float16 have some zeros.
_LEAST_SPARSITY = 0.01


class Masks:
    """Keeps zeros of a model's kernels zero while it trains; heads, which compute the logits, are not pruned."""

    def __init__(self, model: keras.Model) -> None:
        check_attached(model)
        layers = [layer for layer in model._flatten_layers(include_self=False) if isinstance(layer, Dense)]
        self.kernels = {layer.path: layer for layer in layers if layer not in top_layers(model)}
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
        return zeros / max(1, sum(layer.kernel.value.shape.num_elements() for layer in self.kernels.values()))


def keep_zeros(model: keras.Model) -> Callable[[int], None] | None:
    """`Masks.after_step` of a pruned model; None for a dense one."""
    masks = Masks(model)
    return masks.after_step if masks.sparsity() >= _LEAST_SPARSITY else None
