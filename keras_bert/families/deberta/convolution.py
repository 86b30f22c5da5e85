"""The convolution parallel to the first block in DeBERTa v2's largest models."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.layers.block import ConfiguredLayer
from keras_bert.layers.dense import Dense
from keras_bert.layers.feed_forward import ACTIVATIONS
from keras_bert.layers.tap import Tap


@keras.saving.register_keras_serializable("keras_bert")
class ConvolutionSum(ConfiguredLayer):
    """Adds a convolution of the embeddings to the first block's states: LayerNorm(states + activation(convolution)).

    It is `ConvLayer` of DeBERTa's released code. The convolution is computed as a matrix product of windows of tokens,
    so that it is quantized as any other dense layer.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        settings, policy = self.config, self.dtype_policy
        assert isinstance(settings.variant, DeBERTa)
        self.window = settings.variant.convolution
        self.activation = {"tanh": ops.tanh, **ACTIVATIONS}[settings.variant.convolution_activation]
        self.dense = Dense(settings.hidden_size, settings.initializer_range, name="dense", dtype=policy)
        self.dropout = keras.layers.Dropout(settings.dropout, name="dropout", dtype=policy)
        self.norm = keras.layers.LayerNormalization(epsilon=settings.layer_norm_epsilon, name="norm", dtype=policy)
        for tap in ("input_tap", "sum_tap", "norm_tap"):
            setattr(self, tap, Tap(tap))

    def build(self, inputs_shape: tuple[int | None, ...], states_shape: Any, padding_mask_shape: Any) -> None:
        """Makes W (window x hidden, hidden), b and the norm."""
        self.dense.build((None, None, self.window * self.config.hidden_size))
        self.norm.build(inputs_shape)

    def call(self, inputs: Tensor, states: Tensor, padding_mask: Tensor, training: bool = False) -> Tensor:
        """Adds the convolution of the embeddings to the states of the first block, both (batch, length, hidden)."""
        # Padding is set to zero, so that its neighbours do not depend on it.
        embeddings = ops.multiply(inputs, ops.cast(padding_mask, self.compute_dtype)[:, :, None])
        reach, length = self.window // 2, ops.shape(inputs)[1]
        padded = ops.pad(self.input_tap(embeddings, training), ((0, 0), (reach, reach), (0, 0)))
        windows = ops.concatenate([padded[:, start : start + length] for start in range(self.window)], axis=-1)
        convolved = self.activation(self.dropout(self.dense(windows), training=training))
        return self.norm_tap(self.norm(self.sum_tap(ops.add(states, convolved), training)), training)

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], *further: Any) -> Any:
        """The shape of the states."""
        return inputs_shape
