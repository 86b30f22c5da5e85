"""MobileBERT's concatenation of neighbouring token embeddings."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.tap import Tap


@keras.saving.register_keras_serializable("keras_bert")
class Trigrams(keras.layers.Layer):
    """Concatenates the embeddings of the next token, the token and the previous token (Sun et al. 2020, section 3.4).

    Beyond the ends of a text, and in its padding, embeddings are zero, so that the result does not depend on the length
    of the batch. transformers uses the embedding of the padding token, which is zero in models trained with it.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.output_tap = Tap("output_tap")

    def call(self, inputs: Tensor, padding_mask: Tensor, training: bool = False) -> Tensor:
        """(batch, length, width), 1 for a token and 0 for padding (batch, length) -> (batch, length, 3 x width)."""
        text = ops.multiply(inputs, ops.expand_dims(ops.cast(padding_mask, self.compute_dtype), -1))
        padded = ops.pad(text, ((0, 0), (1, 1), (0, 0)))
        return self.output_tap(ops.concatenate([padded[:, 2:], text, padded[:, :-2]], axis=-1), training)

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], padding_mask_shape: Any) -> Any:
        """(batch, length, 3 x width)."""
        width = inputs_shape[-1]
        assert width is not None
        return (*inputs_shape[:-1], 3 * width)
