"""MPNet's bias of relative positions, and its graph (Song et al. 2020)."""

import math
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.bert.graph import embed, encode
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.layers.attention import AttentionBias
from keras_bert.layers.block import ConfiguredLayer


def find_buckets(distances: np.ndarray[Any, Any], variant: MPNet) -> np.ndarray[Any, Any]:
    """Maps distances (n,), the position of the query minus the position of the key, to rows of the table, int32 (n,).

    The rows of a direction are those of T5's encoder (`_relative_position_bucket` of its released code); the second
    half of the table is for keys after the query.
    """
    half = variant.position_buckets // 2
    near, sizes = half // 2, np.abs(distances)
    share = np.log(np.maximum(sizes, near) / near) / math.log(variant.max_distance / near)
    far = np.minimum(near + (share * (half - near)).astype(int), half - 1)
    return (np.where(distances < 0, half, 0) + np.where(sizes < near, sizes, far)).astype("int32")


@keras.saving.register_keras_serializable("keras_bert")
class RelativeBias(ConfiguredLayer):
    """Adds a learned number for each head and relative position to the bias that masks padding."""

    def __init__(self, config: Any, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        assert isinstance(self.config.variant, MPNet)
        self.rows = self.config.variant.position_buckets
        # Constants of the graph: another runtime may round a logarithm differently.
        longest = self.config.max_length
        self.buckets = find_buckets(np.arange(longest - 1, -longest, -1), self.config.variant)

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Makes the table (buckets, heads)."""
        initializer = keras.initializers.TruncatedNormal(stddev=self.config.initializer_range)
        # No autocast: the gradient of an entry is a sum over all pairs of tokens of all layers.
        shape = (self.rows, self.config.num_heads)
        self.embeddings = self.add_weight(name="embeddings", shape=shape, initializer=initializer, autocast=False)

    def call(self, inputs: Tensor) -> Tensor:
        """Bias of padding (batch, 1, 1, length) -> bias (batch, heads, length, length)."""
        places = ops.arange(ops.shape(inputs)[3])
        places = ops.subtract(places[None, :], places[:, None]) + (self.config.max_length - 1)
        numbers = ops.take(self.embeddings, ops.take(self.buckets, places), axis=0)
        return ops.add(inputs, ops.cast(ops.transpose(numbers, (2, 0, 1)), self.compute_dtype))

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """(batch, heads, length, length). JAX cannot infer it from `call`, which counts to an unknown length."""
        return inputs_shape[0], self.config.num_heads, inputs_shape[3], inputs_shape[3]


def mpnet_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    padding_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    return encode(config, embed(config, inputs), RelativeBias(config, name="relative_bias")(padding_bias))
