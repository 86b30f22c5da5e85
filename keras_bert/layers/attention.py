"""Multi-head self-attention (Vaswani et al. 2017, section 3.2) and the bias that hides padding."""

import math
from typing import Any, ClassVar

import keras
from keras import ops

from keras_bert.layers.dense import Dense
from keras_bert.layers.tap import Tap

# What a padded position adds to its attention score: its share of the attention, e^-120, is zero in float32,
# and yet it can share an int8 range with the scores: -1e9 leaves them a single step.
MASK_BIAS = -120.0


class AttentionBias(keras.layers.Layer):
    """Padding mask -> what to add to the attention scores."""

    def call(self, inputs: Any) -> Any:
        """(batch, length), 1 for a token and 0 for padding -> (batch, 1, 1, length)."""
        padding = ops.subtract(1.0, ops.cast(inputs, self.compute_dtype))
        return ops.multiply(padding, MASK_BIAS)[:, None, None, :]


class SelfAttention(keras.layers.Layer):
    """softmax(Q K^T / sqrt(head_size) + bias) V, over all heads at once, then the output projection.

    V may be read from other states than Q and K, of any width.

    Args:
        num_heads: attention heads.
        dropout: rate on the attention probabilities.
        initializer_range: standard deviation of the truncated normal initializer.
        attention_size: width of all heads together; None for that of the states.

    Attributes:
        sees_all: whether the scores of all pairs of tokens pass `scores_tap` as one matrix a head, however long a text
            is; else a student cannot imitate them.
    """

    sees_all: ClassVar[bool] = True
    taps: ClassVar[tuple[str, ...]] = ("query_tap", "scores_tap", "probabilities_tap", "context_tap")

    def __init__(
        self,
        num_heads: int,
        dropout: float = 0.1,
        initializer_range: float = 0.02,
        attention_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.dropout_rate = dropout
        self.initializer_range = initializer_range
        self.attention_size = attention_size
        for tap in self.taps:
            setattr(self, tap, Tap(tap))
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any, values_shape: Any = None) -> None:
        """Makes query and key (hidden, attention), value (values, attention), and the way back (attention, hidden)."""
        hidden_size = inputs_shape[-1]
        assert hidden_size is not None
        self.head_size = (self.attention_size or hidden_size) // self.num_heads
        for name in ("query", "key"):
            self._add_projection(name, read=hidden_size)
        self._add_projection("value", read=hidden_size if values_shape is None else values_shape[-1])
        self._add_projection("output_projection", write=hidden_size)

    def _add_projection(
        self, name: str, use_bias: bool = True, read: int | None = None, write: int | None = None
    ) -> None:
        """A layer (read, write), each as wide as all heads together where nothing else is said."""
        width = self.num_heads * self.head_size
        dense = Dense(write or width, self.initializer_range, use_bias, name=name, dtype=self.dtype_policy)
        dense.build((None, read or width))
        setattr(self, name, dense)

    def _split_heads(self, x: Any, shape: Any) -> Any:
        """(batch, length, attention), and the inputs' shape -> (batch, heads, length, head_size).

        The shape is read from the layer's inputs: where a bias is all zero, tf2onnx would drop what the
        projection's own shape is read from.
        """
        return ops.transpose(ops.reshape(x, (shape[0], shape[1], self.num_heads, self.head_size)), (0, 2, 1, 3))

    def call(
        self, inputs: Any, attention_bias: Any, values: Any = None, asking: Any = None, training: bool = False
    ) -> Any:
        """Looks at all tokens, for all or some of them.

        Args:
            inputs: (batch, length, hidden).
            attention_bias: (batch, 1, 1, length).
            values: what V is read from, if not the inputs.
            asking: what Q is read from, if not the inputs: those of fewer tokens (batch, queries, hidden).
            training: whether it trains.

        Returns:
            (batch, queries, hidden), as many queries as tokens where nothing else is said.
        """
        shape = ops.shape(inputs)
        asking, asked = (inputs, shape) if asking is None else (asking, ops.shape(asking))
        scaled = ops.multiply(self.query(asking), 1 / math.sqrt(self.head_size))
        query = self._split_heads(self.query_tap(scaled, training), asked)
        key = self._split_heads(self.key(inputs), shape)
        value = self._split_heads(self.value(inputs if values is None else values), shape)
        return self._attend(query, key, value, attention_bias, asked, training)

    def _attend(self, query: Any, key: Any, value: Any, attention_bias: Any, shape: Any, training: bool) -> Any:
        """Scaled queries, keys and values (batch, heads, length, head_size) -> (batch, queries, hidden), the shape."""
        return self._join_heads(self._look_at_all(query, key, value, attention_bias, training), shape, training)

    def _look_at_all(self, query: Any, key: Any, value: Any, attention_bias: Any, training: bool) -> Any:
        """Scaled queries (batch, heads, queries, head_size), keys and values of all tokens -> as the queries."""
        scores = ops.add(attention_bias, ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))))
        return ops.matmul(self._shares(scores, training), value)

    def _mix(self, scores: Any, value: Any, shape: Any, training: bool) -> Any:
        """Scores (batch, heads, length, length), values (batch, heads, length, head_size) -> `shape`, the inputs'."""
        return self._join_heads(ops.matmul(self._shares(scores, training), value), shape, training)

    def _shares(self, scores: Any, training: bool) -> Any:
        """Scores (..., keys) -> how much of each key's value a query takes, of the same shape."""
        shares = self.probabilities_tap(ops.softmax(self.scores_tap(scores, training), axis=-1), training)
        return self.dropout(shares, training=training)

    def _join_heads(self, context: Any, shape: Any, training: bool) -> Any:
        """(batch, heads, length, head_size) -> `shape`, the inputs'."""
        context = ops.transpose(self.context_tap(context, training), (0, 2, 1, 3))
        return self.output_projection(ops.reshape(context, (*shape[:2], self.num_heads * self.head_size)))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "dropout": self.dropout_rate,
            "initializer_range": self.initializer_range,
            "attention_size": self.attention_size,
        }
