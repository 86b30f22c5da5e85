"""The pre-training objective with the loss over the vocabulary in few passes."""

from typing import Any

import keras
import tensorflow as tf

from keras_bert.fused.masked_tokens import masked_token_loss
from keras_bert.losses import cross_entropy, hits, weighted
from keras_bert.models.encoder import has_layer
from keras_bert.objectives.base import Batch, Sums, call_model
from keras_bert.objectives.pretraining import PretrainingObjective


class FusedPretrainingObjective:
    """What `PretrainingObjective` computes, without the scores of the vocabulary in one piece.

    Args:
        model: what `build_pretraining` returns, and what the objective is called with.
        next_sentence: whether the model has the second head.
    """

    def __init__(self, model: keras.Model, *, next_sentence: bool = True) -> None:
        self._plain = PretrainingObjective(next_sentence)
        self._model = model
        states = {"masked_states": model.get_layer("masked_token_transform").output}
        if next_sentence:
            states["next_sentence"] = model.output["next_sentence"]
        self._body = keras.Model(model.input, states, name="pretraining_body")

    def weights(self, batch: Batch) -> dict[str, Any]:
        """As `PretrainingObjective.weights`."""
        return self._plain.weights(batch)

    def identity(self) -> dict[str, Any]:
        """As `PlainObjective.identity`: it rounds otherwise than what it stands for."""
        return {**self._plain.identity(), "class": type(self).__name__}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """As `PretrainingObjective`.

        Raises:
            ValueError: it is another model.
        """
        if model is not self._model:
            raise ValueError(f"model must be the one that the objective was made for, {self._model.name!r}")
        states = call_model(self._body, batch, training)
        hidden = states["masked_states"]
        loss, right = masked_token_loss(
            tf.reshape(hidden, (-1, hidden.shape[-1])),
            _output_matrix(model),
            tf.convert_to_tensor(model.get_layer("masked_token_bias").bias.value),
            tf.reshape(batch["mask_ids"], (-1,)),
        )
        weights = tf.reshape(batch["mask_weights"], (-1,))
        sums = {"masked_loss": weighted(loss, weights), "masked_accuracy": weighted(right, weights)}
        if self._plain.next_sentence:
            follows = batch["next_sentence_label"]
            ones = tf.ones_like(follows, dtype=tf.float32)
            sums["next_sentence_loss"] = weighted(cross_entropy(states["next_sentence"], follows), ones)
            sums["next_sentence_accuracy"] = weighted(hits(states["next_sentence"], follows), ones)
        return sums


def _output_matrix(model: keras.Model) -> tf.Tensor:
    """The token embedding (vocabulary, hidden), with the columns beside it where there are some."""
    names = [name for name in ("token_embedding", "masked_token_columns") if has_layer(model, name)]
    return tf.concat([model.get_layer(name).embeddings.value for name in names], axis=1)
