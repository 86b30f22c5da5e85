"""What MobileBERT's embeddings are made of."""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.tap import Tap


class Trigrams(keras.layers.Layer):
    """The vectors of the next token, of a token and of the one before it, side by side (Sun et al. 2020, section 3.4).

    Beyond the ends of a text there are zeros, and so there are where it is padded: else the last token's vectors would
    depend on how long the other texts of the batch are. (In transformers, the embedding of padding stands there, which
    is zero if it was trained there.)
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.output_tap = Tap("output_tap")

    def call(self, inputs: Any, padding_mask: Any, training: bool = False) -> Any:
        """(batch, length, width), 1 for a token and 0 for padding (batch, length) -> (batch, length, 3 x width)."""
        text = ops.multiply(inputs, ops.expand_dims(ops.cast(padding_mask, self.compute_dtype), -1))
        wider = ops.pad(text, ((0, 0), (1, 1), (0, 0)))
        return self.output_tap(ops.concatenate([wider[:, 2:], text, wider[:, :-2]], axis=-1), training)

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], padding_mask_shape: Any) -> Any:
        """(batch, length, 3 x width)."""
        width = inputs_shape[-1]
        assert width is not None
        return (*inputs_shape[:-1], 3 * width)
