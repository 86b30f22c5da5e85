"""Random probes: a loss that measures the importance of an encoder's parts without a task."""

from typing import Any

import keras
from keras import ops

from keras_bert.models.encoder import sequence_output
from keras_bert.objectives.base import Batch, Sums


class RandomProbes:
    """The final states of a text along a random direction, in the place of a task's loss.

    To first order, taking a part out of an encoder moves a text's final states, all tokens together, by a vector v. Of
    r with independent normal entries the mean of |r v| is sqrt(2 / pi) |v|: with this loss `measure_importance` tells,
    but for that factor, how far the states move on the mean, whatever a task will read of them. That random probes
    stand for a norm is Hutchinson's (1990) way to a trace.

    Args:
        encoder: the encoder whose states are probed.
    """

    def __init__(self, encoder: keras.Model) -> None:
        self.network = keras.Model(encoder.input, sequence_output(encoder), name="states")
        self._seeds = keras.random.SeedGenerator(0)

    def inputs(self, model: keras.Model, batch: Batch) -> dict[str, Any]:
        """Returns the model inputs of a batch, by name."""
        return {spec.name: batch[spec.name] for spec in model.inputs}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """`loss`: for each text the sum over its tokens of r h, each text and token with an r of its own.

        Args:
            model: `network`.
            batch: the encoder's inputs.
            training: whether dropout is on.
        """
        states = model(self.inputs(model, batch), training=training)
        mask = ops.cast(batch["padding_mask"], states.dtype)
        probes = keras.random.normal(ops.shape(states), dtype=states.dtype, seed=self._seeds) * mask[..., None]
        return {"loss": (ops.sum(probes * states), ops.cast(ops.shape(states)[0], states.dtype))}
