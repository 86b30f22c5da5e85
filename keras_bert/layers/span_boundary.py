"""SpanBERT's prediction of masked tokens from the boundaries of their span (Joshi et al. 2020, section 3.2)."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.block import SavedLayer
from keras_bert.layers.dense import Dense
from keras_bert.layers.feed_forward import ACTIVATIONS

# Number and width of the embeddings of positions within a span (section 4.2), as in facebookresearch/SpanBERT.
SPAN_POSITIONS = 20
POSITION_SIZE = 200


def find_boundaries(mask_positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Finds the boundary tokens of each masked token's span, and the token's position within the span.

    A span is a run of masked tokens. As in the released code, adjacent spans count as one span: a boundary token that
    is masked would carry little information. Every span has two boundaries, as special tokens are never masked.

    Positions int32 (batch, predictions), in each row ascending and at least 1, then padded with 0 -> the positions left
    and right of the span, and the position within the span from 0, in the same shape; arbitrary ones for padding.
    """
    indices = ops.cumsum(ops.ones_like(mask_positions), axis=1) - 1
    # Constant within a run, where positions and their indices both rise by one. For padding it is 0 or less.
    runs = ops.subtract(mask_positions, indices)
    same = ops.equal(runs[:, :, None], runs[:, None, :])
    others = mask_positions[:, None, :]
    first = ops.min(ops.where(same, others, mask_positions[:, :, None]), axis=-1)
    last = ops.max(ops.where(same, others, 0), axis=-1)
    return ops.maximum(first - 1, 0), last + 1, ops.subtract(mask_positions, first)


class SpanBoundaryTransform(SavedLayer):
    """SpanBERT's head: two layers on the states of both boundary tokens and an embedding of the position in the span.

    Each layer is LayerNorm(activation(W h + b)) (Joshi et al. 2020, section 3.2), as wide as the token embedding.
    """

    def __init__(
        self,
        units: int,
        activation: str = "gelu_tanh",
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.activation = units, activation
        self.layer_norm_epsilon, self.initializer_range = layer_norm_epsilon, initializer_range
        spread, policy = initializer_range, self.dtype_policy
        self.layers = [
            (
                Dense(units, spread, name=f"dense_{number}", dtype=policy),
                keras.layers.LayerNormalization(epsilon=layer_norm_epsilon, name=f"norm_{number}", dtype=policy),
            )
            for number in range(2)
        ]

    def build(self, inputs_shape: tuple[int | None, ...], mask_positions_shape: Any = None) -> None:
        """Creates the position embedding (20, 200) and the weights of both layers."""
        initializer = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
        self.span_positions = self.add_weight(
            name="span_positions", shape=(SPAN_POSITIONS, POSITION_SIZE), initializer=initializer
        )
        hidden_size = inputs_shape[-1]
        assert hidden_size is not None
        width = 2 * hidden_size + POSITION_SIZE
        for dense, norm in self.layers:
            dense.build((*inputs_shape[:-1], width))
            width = dense.units
            norm.build((*inputs_shape[:-1], width))

    def call(self, inputs: Tensor, mask_positions: Tensor) -> Tensor:
        """(batch, length, hidden), positions (batch, predictions) -> (batch, predictions, units)."""
        left, right, position = find_boundaries(mask_positions)
        boundaries = [ops.take_along_axis(inputs, boundary[:, :, None], axis=1) for boundary in (left, right)]
        table = ops.cast(self.span_positions, inputs.dtype)
        positions = ops.take(table, ops.minimum(position, SPAN_POSITIONS - 1), axis=0)
        x = ops.concatenate([*boundaries, positions], axis=-1)
        for dense, norm in self.layers:
            x = norm(ACTIVATIONS[self.activation](dense(x)))
        return x
