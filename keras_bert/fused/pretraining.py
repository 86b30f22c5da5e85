"""The objectives of pre-training with the fused loss over the vocabulary."""

import abc
from typing import Any

import keras
import tensorflow as tf

from keras_bert.core.losses import correct, cross_entropy, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.fused.masked_tokens import draw_tokens, masked_token_loss
from keras_bert.models.encoder import has_layer, output_of
from keras_bert.objectives.base import Batch, Objective, Sums, call_model
from keras_bert.objectives.pretraining import (
    PretrainingObjective,
    ReplacedTokensObjective,
    boundary_weights,
    measure_replaced,
)
from keras_bert.options.pretraining import Generator


class FusedObjective(abc.ABC):
    """An objective with the results of a plain one, up to rounding, for one model."""

    def __init__(self, plain: Objective, model: keras.Model) -> None:
        self._plain, self._model = plain, model

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weights of the plain objective."""
        return self._plain.weights(batch)

    def identity(self) -> dict[str, Any]:
        """The identity of the plain objective, with the name of this class, as its results are rounded differently."""
        return {**self._plain.identity(), "class": type(self).__name__}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """The sums of the plain objective."""
        if model is not self._model:
            raise ValueError(f"model must be the one that the objective was made for, {self._model.name!r}")
        return self._sums(batch, training)

    @abc.abstractmethod
    def _sums(self, batch: Batch, training: bool) -> Sums:
        """The sums and weights of all metrics of the plain objective."""


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

        If the head of masked tokens reads wider states, the matrix has further columns after the token embedding.
        """
        matrix = tf.convert_to_tensor(self._model.get_layer("token_embedding").matrix())
        bias = self._model.get_layer(f"{_HEADS[name]}_bias").bias
        if name == "masked" and has_layer(self._model, "masked_token_columns"):
            matrix = tf.concat([matrix, self._model.get_layer("masked_token_columns").embeddings.value], axis=1)
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


class FusedReplacedTokensObjective(FusedObjective):
    """`ReplacedTokensObjective` of a model of `build_joint` with the fused loss over the vocabulary."""

    def __init__(self, model: keras.Model, generator: Generator) -> None:
        super().__init__(ReplacedTokensObjective(generator), model)
        self._masked = FusedPretrainingObjective(model.get_layer("generator"), next_sentence=False)

    def _sums(self, batch: Batch, training: bool) -> Sums:
        replacement = self._model.get_layer("token_replacement")
        states = self._masked.run(batch, training)
        seeds = replacement.seeds(batch["mask_positions"], batch["mask_ids"], training)
        drawn = draw_tokens(
            tf.stop_gradient(rows_of(states["masked"])),
            *self._masked.output_weights(),
            *(tf.reshape(seed, (-1,)) for seed in seeds),
        )
        hidden = (batch[name] for name in ("token_ids", "mask_positions", "mask_ids", "mask_weights"))
        token_ids, is_replaced = replacement.replace(tf.reshape(drawn, tf.shape(seeds[0])), *hidden)
        logits = call_model(self._model.get_layer("discriminator"), {**batch, "token_ids": token_ids}, training)
        return self._masked.measure(states, batch) | measure_replaced(logits, is_replaced, batch["padding_mask"])
