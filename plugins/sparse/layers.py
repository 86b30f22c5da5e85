"""The output layer of sparse vectors."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor


@keras.saving.register_keras_serializable("keras_bert_sparse")
class TermWeights(keras.layers.Layer):
    """The weight of each vocabulary entry in a text: max over tokens of log(1 + relu(score + b)).

    Formal et al. 2021, "SPLADE v2", equations 1 and 6. The logarithm rises, so that it is computed after the maximum.
    """

    def build(self, scores_shape: tuple[int | None, ...], *further: Any) -> None:
        """Makes the bias b (vocabulary,)."""
        self.bias = self.add_weight(name="bias", shape=(scores_shape[-1],), initializer="zeros")

    def call(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        """Scores (batch, length, vocabulary), 1 for a token and 0 for padding (batch, length) -> (batch, vocabulary).

        The weights are float32.
        """
        is_token = ops.expand_dims(padding_mask, 2) > 0
        best = ops.max(ops.where(is_token, scores + ops.cast(self.bias, scores.dtype), 0.0), axis=1)
        return ops.log(1.0 + ops.relu(ops.cast(best, "float32")))  # ONNX has no log1p

    def compute_output_shape(self, scores_shape: tuple[int | None, ...], *further: Any) -> Any:
        """(batch, vocabulary)."""
        return scores_shape[0], scores_shape[-1]
