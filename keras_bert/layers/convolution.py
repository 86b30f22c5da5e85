"""The convolution beside the first block of DeBERTa v2's largest models."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.config import EncoderConfig
from keras_bert.layers.block import ConfiguredLayer
from keras_bert.layers.dense import Dense
from keras_bert.layers.feed_forward import ACTIVATIONS
from keras_bert.layers.tap import Tap
from keras_bert.variants.disentangled import Disentangled


class ConvolutionSum(ConfiguredLayer):
    """LayerNorm(states + activation(convolution of the embeddings)) (`ConvLayer` of DeBERTa's released code).

    The convolution is one matrix product of windows: int8 then needs nothing that other layers do not.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        known, policy = self.config, self.dtype_policy
        assert isinstance(known.variant, Disentangled)
        self.window = known.variant.convolution
        self.activation = {"tanh": ops.tanh, **ACTIVATIONS}[known.variant.convolution_activation]
        self.dense = Dense(known.hidden_size, known.initializer_range, name="dense", dtype=policy)
        self.dropout = keras.layers.Dropout(known.dropout, name="dropout", dtype=policy)
        self.norm = keras.layers.LayerNormalization(epsilon=known.layer_norm_epsilon, name="norm", dtype=policy)
        for tap in ("input_tap", "sum_tap", "norm_tap"):
            setattr(self, tap, Tap(tap))

    def build(self, inputs_shape: tuple[int | None, ...], states_shape: Any, padding_mask_shape: Any) -> None:
        """Makes W (window x hidden, hidden), b and the norm."""
        self.dense.build((None, None, self.window * self.config.hidden_size))
        self.norm.build(inputs_shape)

    def call(self, inputs: Any, states: Any, padding_mask: Any, training: bool = False) -> Any:
        """Embeddings and states (batch, length, hidden), 1 for a token and 0 for padding (batch, length) -> states."""
        # Tokens beside padding must not see it.
        real = ops.multiply(inputs, ops.cast(padding_mask, self.compute_dtype)[:, :, None])
        reach, length = self.window // 2, ops.shape(inputs)[1]
        padded = ops.pad(self.input_tap(real, training), ((0, 0), (reach, reach), (0, 0)))
        windows = ops.concatenate([padded[:, start : start + length] for start in range(self.window)], axis=-1)
        seen = self.activation(self.dropout(self.dense(windows), training=training))
        return self.norm_tap(self.norm(self.sum_tap(ops.add(states, seen), training)), training)

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], *further: Any) -> Any:
        """The states' own shape."""
        return inputs_shape
