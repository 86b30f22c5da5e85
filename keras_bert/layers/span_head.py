"""What BigBird's head for answers has besides a linear layer."""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.attention import MASK_BIAS
from keras_bert.layers.feed_forward import FeedForward
from keras_bert.layers.global_tokens import before_separator


class SpanTransform(keras.layers.Layer):
    """LayerNorm(h + feed-forward(h)) of every token (transformers, `BigBirdForQuestionAnsweringHead`).

    Args:
        intermediate_size: width of the feed-forward layer.
        activation: a key of `feed_forward.ACTIVATIONS`.
        dropout: rate on what the feed-forward layer reads, and on what it gives.
        layer_norm_epsilon: added to the variance.
        initializer_range: standard deviation of the truncated normal initializer.
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
        self.settings = {
            "intermediate_size": intermediate_size,
            "activation": activation,
            "dropout": dropout,
            "layer_norm_epsilon": layer_norm_epsilon,
            "initializer_range": initializer_range,
        }
        policy = self.dtype_policy
        self.feed_forward = FeedForward(
            intermediate_size, activation, initializer_range, name="feed_forward", dtype=policy
        )
        self.norm = keras.layers.LayerNormalization(epsilon=layer_norm_epsilon, name="norm", dtype=policy)
        self.input_dropout = keras.layers.Dropout(dropout, name="input_dropout", dtype=policy)
        self.output_dropout = keras.layers.Dropout(dropout, name="output_dropout", dtype=policy)

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Builds the parts, which all read (batch, length, hidden)."""
        self.feed_forward.build(inputs_shape)
        self.norm.build(inputs_shape)

    def call(self, inputs: Any, training: bool = False) -> Any:
        """(batch, length, hidden) -> (batch, length, hidden)."""
        passed = self.feed_forward(self.input_dropout(inputs, training=training))
        return self.norm(ops.add(inputs, self.output_dropout(passed, training=training)))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), **self.settings}


class QuestionBias(keras.layers.Layer):
    """Hides the question from those who look for an answer: all tokens up to the first separator but the first token.

    transformers takes 1e6 from their logits, ours as much as from those of padding.

    Args:
        separator: its id.
    """

    def __init__(self, separator: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.separator = separator

    def call(self, token_ids: Any, attention_bias: Any) -> Any:
        """Ids int32 (batch, length), what hides padding (batch, 1, 1, length) -> what hides both, likewise."""
        # The separator itself has an open question in front of it, too.
        inside = ops.pad(before_separator(token_ids, self.separator)[:, :-1], ((0, 0), (1, 0)))
        hidden = ops.multiply(ops.cast(inside, attention_bias.dtype), MASK_BIAS)
        return ops.minimum(attention_bias, hidden[:, None, None, :])

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "separator": self.separator}
