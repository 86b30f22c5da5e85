"""Replaces masked tokens by samples from ELECTRA's generator (Clark et al. 2020, section 2)."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.noise import gumbel_noise, row_seeds


class TokenReplacement(keras.layers.Layer):
    """Replaces masked tokens by samples from the softmax of ELECTRA's generator; gradients do not pass through it.

    The samples of a row depend on its scores, its tokens and, in training, the number of earlier calls, but not on
    other rows or the device. Without a seed it is random.
    """

    def __init__(self, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(
        self,
        inputs: Tensor,
        token_ids: Tensor,
        mask_positions: Tensor,
        mask_ids: Tensor,
        mask_weights: Tensor,
        training: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Makes the inputs and the labels of the discriminator.

        The generator's logits at the masked positions (batch, predictions, vocabulary), the masked text (batch,
        length), and the positions, original tokens and weights of the masks (batch, predictions) -> the text with the
        samples, and labels, 1 where a sample differs from the original token, else 0; both int32 (batch, length). Each
        call in training draws new samples.
        """
        first, second = self.seeds(mask_positions, mask_ids, training)
        vocabulary_ids = ops.cast(ops.arange(inputs.shape[-1], dtype="int32"), "uint32")
        noise = gumbel_noise(vocabulary_ids, first[:, :, None], second[:, :, None])
        samples = ops.argmax(ops.add(ops.cast(inputs, "float32"), noise), axis=-1)
        return self.replace(ops.cast(samples, "int32"), token_ids, mask_positions, mask_ids, mask_weights)

    def seeds(self, mask_positions: Tensor, mask_ids: Tensor, training: bool) -> tuple[Tensor, Tensor]:
        """The seeds of the samples, see `row_seeds`; in training they change with each call."""
        seed = self.seed_generator.next() if training else ops.zeros((2,), "uint32")
        return row_seeds(seed, mask_positions, mask_ids)

    @staticmethod
    def replace(
        samples: Any, token_ids: Tensor, mask_positions: Tensor, mask_ids: Tensor, mask_weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Replaces masked tokens by samples, int32 (batch, predictions); returns what `call` returns."""
        places = ops.cumsum(ops.ones_like(token_ids), axis=1) - 1
        is_place = ops.equal(mask_positions[:, :, None], places[:, None, :])
        is_place = ops.cast(ops.logical_and(is_place, ops.greater(mask_weights, 0)[:, :, None]), "int32")
        kept = ops.multiply(token_ids, 1 - ops.sum(is_place, axis=1))
        is_new = ops.cast(ops.not_equal(samples, mask_ids), "int32")
        new_ids = ops.add(kept, ops.sum(ops.multiply(is_place, samples[:, :, None]), axis=1))
        return new_ids, ops.sum(ops.multiply(is_place, is_new[:, :, None]), axis=1)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "seed": self.seed_generator.get_config()["seed"]}
