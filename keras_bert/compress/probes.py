"""Random probes: a loss that measures the importance of an encoder's parts without a task."""

import keras
from keras import ops

from keras_bert.models.encoder import sequence_output
from keras_bert.objectives.base import Batch, Sums


class RandomProbes:
    """A loss without a task: the projection of a text's final states on a random direction.

    To first order, removing a part of an encoder moves a text's final states, all tokens together, by a vector v. For a
    vector r of independent normal entries the mean of |r v| is sqrt(2 / pi) |v|. With this loss `measure_importance`
    measures, up to that factor, the mean distance by which the states move. Random probes estimate a norm as they
    estimate a trace in Hutchinson (1990).
    """

    def __init__(self, encoder: keras.Model) -> None:
        self.network = keras.Model(encoder.input, sequence_output(encoder), name="states")
        self._seeds = keras.random.SeedGenerator(0)

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """`loss`: the sum over the tokens of each text of r h, with another r for each text and token."""
        states = model({spec.name: batch[spec.name] for spec in model.inputs}, training=training)
        mask = ops.cast(batch["padding_mask"], states.dtype)
        probes = keras.random.normal(ops.shape(states), dtype=states.dtype, seed=self._seeds) * mask[..., None]
        return {"loss": (ops.sum(probes * states), ops.cast(ops.shape(states)[0], states.dtype))}
