"""The layers of BigBird's head for question answering, before its output layer."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.attention import MASK_BIAS
from keras_bert.layers.block import SavedLayer
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.feed_forward import FeedForward
from keras_bert.layers.separator import SeparatorReader


@keras.saving.register_keras_serializable("keras_bert")
class SpanTransform(SavedLayer):
    """The hidden layer of BigBird's head for question answering: LayerNorm(h + feed-forward(h)) of every token.

    It follows transformers' `BigBirdForQuestionAnsweringHead`; the dropout is on inputs and outputs of the feed-forward
    layer.
    """

    def __init__(
        self,
        intermediate_size: int,
        activation: str,
        dropout: float,
        layer_norm_epsilon: float,
        initializer_range: float,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.intermediate_size, self.activation, self.dropout = intermediate_size, activation, dropout
        self.layer_norm_epsilon, self.initializer_range = layer_norm_epsilon, initializer_range
        policy = self.dtype_policy
        self.feed_forward = FeedForward(
            intermediate_size, activation, initializer_range, name="feed_forward", dtype=policy
        )
        self.norm = keras.layers.LayerNormalization(epsilon=layer_norm_epsilon, name="norm", dtype=policy)
        self.input_dropout = Dropout(dropout, name="input_dropout", dtype=policy)
        self.output_dropout = Dropout(dropout, name="output_dropout", dtype=policy)

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Builds the sublayers for inputs (batch, length, hidden)."""
        self.feed_forward.build(inputs_shape)
        self.norm.build(inputs_shape)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(batch, length, hidden) -> (batch, length, hidden)."""
        outputs = self.feed_forward(self.input_dropout(inputs, training=training))
        return self.norm(ops.add(inputs, self.output_dropout(outputs, training=training)))


@keras.saving.register_keras_serializable("keras_bert")
class QuestionBias(SeparatorReader):
    """Masks the question, which cannot contain the answer: all tokens up to the first separator except the first token.

    transformers subtracts 1e6 from the logits of these tokens; this layer gives them the bias of padding.
    """

    def __init__(self, separator: int, **kwargs: Any) -> None:
        super().__init__(separator, **kwargs)

    def call(self, token_ids: Tensor, attention_bias: Tensor) -> Tensor:
        """Token ids int32 (batch, length), bias of padding (batch, 1, 1, length) -> bias of padding and question."""
        # The shift by one masks the separator, and leaves the first token unmasked.
        in_question = ops.pad(self.before_separator(token_ids)[:, :-1], ((0, 0), (1, 0)))
        question_bias = ops.multiply(ops.cast(in_question, attention_bias.dtype), MASK_BIAS)
        return ops.minimum(attention_bias, question_bias[:, None, None, :])
