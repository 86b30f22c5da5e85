"""Relative positions: their embeddings, the buckets of large distances, and the shift from distances to pairs."""

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.layers.block import ConfiguredLayer
from keras_bert.layers.tap import Tap


@keras.saving.register_keras_serializable("keras_bert")
class RelativeEmbedding(ConfiguredLayer):
    """DeBERTa's embeddings of relative positions, for all distances between two tokens of an input.

    All blocks share the table (He et al. 2021, section 3.1); with `normalized_positions` LayerNorm is applied to it.
    """

    def __init__(self, config: Any, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        assert isinstance(self.config.variant, DeBERTa)
        self.variant: DeBERTa = self.config.variant
        self.rows = _rows(self.config, self.variant)
        self.norm = None
        if self.variant.normalized_positions:
            epsilon = self.config.layer_norm_epsilon
            self.norm = keras.layers.LayerNormalization(epsilon=epsilon, name="norm", dtype=self.dtype_policy)
        self.output_tap = Tap("output_tap")

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Makes the table (2 x span, hidden): the first half is for keys after the query, the second for the others."""
        shape = (2 * self.variant.span, self.config.hidden_size)
        initializer = keras.initializers.TruncatedNormal(stddev=self.config.initializer_range)
        # No autocast: the gradient of a row is a sum over thousands of pairs of tokens, which needs float32.
        self.embeddings = self.add_weight(name="embeddings", shape=shape, initializer=initializer, autocast=False)
        if self.norm is not None:
            self.norm.build(shape)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """States (batch, length, hidden), which only give the length -> (2, 2 x length, hidden).

        [0] has the embeddings of the distances length, length - 1, ..., 1 - length; [1] those of the negated
        distances. A distance is the position of the query minus the position of the key.

        Raises:
            ValueError: the static length is larger than `max_length`.
        """
        length, most = ops.shape(inputs)[1], self.config.max_length
        self._check_length(length)
        rows = ops.convert_to_tensor(self.rows)[:, most - length : most + length]
        table = ops.cast(self.embeddings, self.compute_dtype)
        table = table if self.norm is None else self.norm(table)
        return self.output_tap(ops.take(table, rows, axis=0), training)

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """(2, 2 x length, hidden). JAX cannot infer it from `call`, which slices to an unknown length.

        Raises:
            ValueError: the static length is larger than `max_length`.
        """
        length = inputs_shape[1]
        self._check_length(length)
        return 2, None if length is None else 2 * length, self.config.hidden_size

    def _check_length(self, length: Tensor) -> None:
        most = self.config.max_length
        if isinstance(length, int) and length > most:
            raise ValueError(f"a sequence must have at most max_length={most} tokens, got {length}")


def _rows(config: EncoderConfig, variant: DeBERTa) -> np.ndarray[Any, Any]:
    """The rows of the distances max_length, ..., 1 - max_length, and of their negatives, int32 (2, 2 x max_length).

    They are constants of the graph: another runtime may round a logarithm differently, which would move a distance at
    the edge of a bucket into the next bucket.
    """
    places = relative_positions(np.arange(config.max_length, -config.max_length, -1), variant)
    rows = np.stack([places, -places]) + variant.span
    return np.clip(rows, 0, 2 * variant.span - 1).astype("int32")


def relative_positions(distances: np.ndarray[Any, Any], variant: DeBERTa) -> np.ndarray[Any, Any]:
    """Maps distances (n,) to relative positions (n,), which may exceed the span.

    Half of the buckets contain one distance each. Larger distances d are in bucket `near + ceil(log(d / near) /
    log((max_distance - 1) / near) x (near - 1))` (`make_log_bucket_position` of DeBERTa's released code, version 2).
    """
    if not variant.position_buckets:
        return distances
    near = variant.position_buckets // 2
    far = np.maximum(np.abs(distances), near)
    share = np.log(far / near) / math.log((variant.max_distance - 1) / near)
    buckets = near + np.ceil(share * (near - 1)).astype(int)
    return np.where(far > near, np.sign(distances) * buckets, distances)


def by_distance_to_pairs(scores: Tensor) -> Tensor:
    """Scores by token and distance (..., length, 2 x length) -> scores by pair of tokens (..., length, length).

    The score of the tokens i and j is the entry [i, length - (i - j)] of the input and [i, j] of the output: each row
    is shifted by one relative to the row above it. Reshaping to rows that are shorter by one does this without a gather
    (the relative shift of Dai et al. 2019, appendix B).
    """
    *outer, length, width = ops.shape(scores)
    flat = ops.reshape(scores, (*outer, length * width))[..., length:]
    return ops.reshape(flat, (*outer, length, width - 1))[..., :length]
