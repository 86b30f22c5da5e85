"""The pre-training objective with the fused loss over the vocabulary."""

from typing import Any

import keras
import tensorflow as tf

from keras_bert.core.losses import correct, cross_entropy, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.fused.masked_tokens import masked_token_loss
from keras_bert.fused.objective import FusedObjective
from keras_bert.models.encoder import has_layer, output_of
from keras_bert.objectives.base import Batch, Sums, call_model
from keras_bert.objectives.pretraining import PretrainingObjective, boundary_weights

# Name in the metrics -> prefix of the names of its head's layers.
_HEADS = {"masked": "masked_token", "boundary": "span_boundary"}


class FusedPretrainingObjective(FusedObjective):
    """`PretrainingObjective` of a model with the fused loss over the vocabulary, see `masked_token_loss`."""

    def __init__(self, model: keras.Model, *, next_sentence: bool = True, span_boundary: bool = False) -> None:
        super().__init__(PretrainingObjective(next_sentence, span_boundary), model)
        self._next_sentence, self._span_boundary = next_sentence, span_boundary
        names = ("masked", "boundary") if span_boundary else ("masked",)
        states = {name: output_of(model, f"{_HEADS[name]}_transform") for name in names}
        if next_sentence:
            states["next_sentence"] = model.output["next_sentence"]
        self._body = keras.Model(model.input, states, name="pretraining_body")

    def _sums(self, batch: Batch, training: bool) -> Sums:
        return self.measure(self.run(batch, training), batch)

    def run(self, batch: Batch, training: bool) -> dict[str, Any]:
        """The inputs of the vocabulary heads, `masked` and `boundary` (batch, predictions, units), and other logits."""
        return call_model(self._body, batch, training)

    def measure(self, states: dict[str, Any], batch: Batch) -> Sums:
        """The sums and weights of all metrics, from the results of `run`."""
        sums = self._over_vocabulary("masked", states, batch, batch["mask_weights"])
        if self._span_boundary:
            sums |= self._over_vocabulary("boundary", states, batch, boundary_weights(batch))
        if self._next_sentence:
            follows = batch["next_sentence_label"]
            ones = tf.ones_like(follows, dtype=tf.float32)
            sums["next_sentence_loss"] = weighted_sums(cross_entropy(states["next_sentence"], follows), ones)
            sums["next_sentence_accuracy"] = weighted_sums(correct(states["next_sentence"], follows), ones)
        return sums

    def output_weights(self, name: str = "masked") -> tuple[Any, Any]:
        """The output matrix (vocabulary, units) and the bias (vocabulary,) of a head, float32.

        Where the head of masked tokens reads wider states, the matrix has further columns beside the token embedding.
        """
        matrix = tf.convert_to_tensor(self._model.get_layer("token_embedding").matrix())
        bias = self._model.get_layer(f"{_HEADS[name]}_bias").bias
        if name == "masked" and has_layer(self._model, "masked_token_columns"):
            columns = self._model.get_layer("masked_token_columns").embeddings
            matrix = tf.concat([matrix, columns.value], axis=1)
        return matrix, tf.convert_to_tensor(bias.value)

    def _over_vocabulary(self, name: str, states: dict[str, Any], batch: Batch, weights: Tensor) -> Sums:
        loss, right = masked_token_loss(
            rows_of(states[name]), *self.output_weights(name), tf.reshape(batch["mask_ids"], (-1,))
        )
        weights = tf.reshape(weights, (-1,))
        return {f"{name}_loss": weighted_sums(loss, weights), f"{name}_accuracy": weighted_sums(right, weights)}


def rows_of(states: Tensor) -> Tensor:
    """(batch, predictions, units) -> (rows, units)."""
    return tf.reshape(states, (-1, states.shape[-1]))
