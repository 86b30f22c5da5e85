"""Tokens of a generator in the place of hidden ones (Clark et al. 2020, section 2)."""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.noise import gumbels, row_seeds


class TokenReplacement(keras.layers.Layer):
    """Puts a token into each hidden place that is drawn from a generator's softmax; no gradient goes through.

    What is drawn for a row depends on the scores, the row and, in training, on how often the layer was called, not on
    the rows beside it or on the device; out of training on the scores and the row alone.

    Args:
        seed: of all that is drawn; None for one of Keras' own.
    """

    def __init__(self, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(
        self,
        inputs: Any,
        token_ids: Any,
        mask_positions: Any,
        mask_ids: Any,
        mask_weights: Any,
        training: bool = False,
    ) -> tuple[Any, Any]:
        """What a discriminator reads, and what it is to find.

        Args:
            inputs: scores of the vocabulary at the hidden places (batch, predictions, vocabulary).
            token_ids: the text with the places hidden (batch, length).
            mask_positions: the places (batch, predictions).
            mask_ids: what stood there (batch, predictions).
            mask_weights: 1 for a place, 0 for filling (batch, predictions).
            training: whether other tokens are drawn in each call.

        Returns:
            The text with the drawn tokens, and 1 where another token than the text's own was drawn, else 0, both int32
            (batch, length).
        """
        first, second = self.seeds(mask_positions, mask_ids, training)
        pieces = ops.cast(ops.arange(inputs.shape[-1], dtype="int32"), "uint32")
        noise = gumbels(pieces, first[:, :, None], second[:, :, None])
        drawn = ops.argmax(ops.add(ops.cast(inputs, "float32"), noise), axis=-1)
        return self.replace(ops.cast(drawn, "int32"), token_ids, mask_positions, mask_ids, mask_weights)

    def seeds(self, mask_positions: Any, mask_ids: Any, training: bool) -> tuple[Any, Any]:
        """What draws the token of each place, see `row_seeds`; in training other ones with each call."""
        seed = self.seed_generator.next() if training else ops.zeros((2,), "uint32")
        return row_seeds(seed, mask_positions, mask_ids)

    @staticmethod
    def replace(drawn: Any, token_ids: Any, mask_positions: Any, mask_ids: Any, mask_weights: Any) -> tuple[Any, Any]:
        """As `call`, of tokens that are drawn already: int32 (batch, predictions)."""
        places = ops.cumsum(ops.ones_like(token_ids), axis=1) - 1
        is_place = ops.equal(mask_positions[:, :, None], places[:, None, :])
        is_place = ops.cast(ops.logical_and(is_place, ops.greater(mask_weights, 0)[:, :, None]), "int32")
        kept = ops.multiply(token_ids, 1 - ops.sum(is_place, axis=1))
        is_new = ops.cast(ops.not_equal(drawn, mask_ids), "int32")
        new_ids = ops.add(kept, ops.sum(ops.multiply(is_place, drawn[:, :, None]), axis=1))
        return new_ids, ops.sum(ops.multiply(is_place, is_new[:, :, None]), axis=1)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "seed": self.seed_generator.get_config()["seed"]}
