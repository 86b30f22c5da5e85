"""Multi-head self-attention (Vaswani et al. 2017, section 3.2), and the bias that masks padding."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import keras
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.layers.block import SavedLayer, as_config
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.tap import Tap

# Added to the attention scores of padding. Its probability, e^-120, is zero in float32, and an int8 grid over the
# scores still distinguishes the scores of tokens; with -1e9 all of them would be rounded to one value. Padding would
# count where its score is over 100 above the best token's; of all-MiniLM-L6-v2 it is 10 above at most (200 paragraphs).
# `padding_effect` tells whether a model has such scores, and the import of a checkpoint warns.
MASK_BIAS = -120.0


@keras.saving.register_keras_serializable("keras_bert")
class AttentionBias(keras.layers.Layer):
    """Converts a padding mask to a bias that is added to the attention scores."""

    def call(self, inputs: Tensor) -> Tensor:
        """Padding mask (batch, length), 1 for a token and 0 for padding -> bias (batch, 1, 1, length)."""
        padding = ops.subtract(1.0, ops.cast(inputs, self.compute_dtype))
        return ops.expand_dims(ops.multiply(padding, MASK_BIAS), (1, 2))


@keras.saving.register_keras_serializable("keras_bert")
class SelfAttention(SavedLayer):
    """Multi-head self-attention: softmax(Q K^T / sqrt(head_size) + bias) V of each head, then the output projection.

    V may be computed from other states than Q and K, with any width. The heads together are `attention_size` wide, or
    as wide as the states.

    Attributes:
        scores_all_pairs: True if `scores_tap` sees one (length, length) matrix of scores per head, at every length.
            Distillation of attention scores needs it.
    """

    scores_all_pairs: ClassVar[bool] = True
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
        self.initializer_range = initializer_range
        self.attention_size = attention_size
        for tap in self.taps:
            setattr(self, tap, Tap(tap))
        self.dropout = Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any, values_shape: Any = None) -> None:
        """Makes query and key (hidden, attention), value (values, attention) and output (attention, hidden)."""
        hidden_size = inputs_shape[-1]
        assert hidden_size is not None
        self.head_size = (self.attention_size or hidden_size) // self.num_heads
        for name in ("query", "key"):
            self._add_projection(name, input_size=hidden_size)
        self._add_projection("value", input_size=hidden_size if values_shape is None else values_shape[-1])
        self._add_projection("output_projection", output_size=hidden_size)

    def _add_projection(
        self, name: str, use_bias: bool = True, input_size: int | None = None, output_size: int | None = None
    ) -> None:
        """Adds a projection (input_size, output_size); None for the width of all heads together."""
        width = self.num_heads * self.head_size
        dense = Dense(output_size or width, self.initializer_range, use_bias, name=name, dtype=self.dtype_policy)
        dense.build((None, input_size or width))
        setattr(self, name, dense)

    def _split_heads(self, x: Tensor, shape: Any) -> Tensor:
        """(batch, length, attention) and the shape of the layer's inputs -> (batch, heads, length, head_size).

        The shape of `x` itself would not do: tf2onnx removes the addition of an all-zero bias, and with it the node
        whose shape is needed.
        """
        return ops.transpose(ops.reshape(x, (shape[0], shape[1], self.num_heads, self.head_size)), (0, 2, 1, 3))

    def call(
        self,
        inputs: Tensor,
        attention_bias: Tensor,
        values: Tensor = None,
        query_states: Tensor = None,
        training: bool = False,
    ) -> Tensor:
        """Attends to all tokens: (batch, length, hidden) -> (batch, queries, hidden), bias (batch, 1, 1, length).

        K is computed from `inputs`, V from `values` (batch, length, any width) and Q from `query_states` (batch,
        queries, hidden), or from `inputs` where these are None.
        """
        shape = ops.shape(inputs)
        query_states = inputs if query_states is None else query_states
        query_shape = ops.shape(query_states)
        scaled = ops.multiply(self.query(query_states), 1 / math.sqrt(self.head_size))
        query = self._split_heads(self.query_tap(scaled, training), query_shape)
        key = self._split_heads(self.key(inputs), shape)
        value = self._split_heads(self.value(inputs if values is None else values), shape)
        return self._join_heads(self._attend(query, key, value, attention_bias, training), query_shape, training)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, attention_bias: Tensor, training: bool) -> Tensor:
        """The mean of the values for each query, weighted by the attention probabilities.

        Scaled queries (batch, heads, queries, head_size), keys and values of all tokens -> the shape of the queries.
        """
        scores = ops.add(attention_bias, ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))))
        return ops.matmul(self._attention_probabilities(scores, training), value)

    def _attention_probabilities(self, scores: Tensor, training: bool) -> Tensor:
        """Scores (..., keys) -> their softmax, with dropout in training, of the same shape."""
        probabilities = self.probabilities_tap(ops.softmax(self.scores_tap(scores, training), axis=-1), training)
        return self.dropout(probabilities, training=training)

    def full_probabilities(self, recorded: Sequence[Any], length: int, global_tokens: Any = None) -> Any:
        """The probabilities of all pairs of tokens, from the arrays that passed `probabilities_tap` in one call.

        `recorded` are NumPy arrays, as `recording` gives them: subclasses that compute parts have others than one
        (batch, heads, length, length). `global_tokens` are those of a Longformer (batch, first tokens). The result is
        (batch, heads, length, length), 0 where no probability is computed.
        """
        (probabilities,) = recorded
        return probabilities

    def _join_heads(self, context: Tensor, shape: Any, training: bool) -> Tensor:
        """(batch, heads, queries, head_size) and the shape of the states of the queries -> (batch, queries, hidden)."""
        context = ops.transpose(self.context_tap(context, training), (0, 2, 1, 3))
        return self.output_projection(ops.reshape(context, (*shape[:2], self.num_heads * self.head_size)))


class ConfiguredAttention(SelfAttention):
    """The base class of attention layers that take their settings from the encoder's configuration."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        settings = as_config(config)
        super().__init__(settings.num_heads, settings.attention_dropout, settings.initializer_range, **kwargs)
        self.config = settings
