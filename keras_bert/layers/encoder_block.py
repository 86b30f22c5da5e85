"""One encoder block: attention and feed-forward, each with dropout, residual and LayerNorm after it."""

from collections.abc import Callable, Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.config import EncoderConfig
from keras_bert.layers.adapters import LowRank
from keras_bert.layers.attention import SelfAttention
from keras_bert.layers.block import Block, as_config
from keras_bert.layers.dense import Dense
from keras_bert.layers.feed_forward import FeedForward
from keras_bert.layers.tap import Tap, taps_of


class EncoderBlock(Block):
    """LayerNorm(x + sub-layer(x)), twice: the post-norm block of Vaswani et al. 2017, section 3.1.

    Args:
        num_heads: attention heads.
        intermediate_size: width of the feed-forward layer.
        activation: a key of `feed_forward.ACTIVATIONS`.
        dropout: rate on the output of each sub-layer.
        attention_dropout: rate on the attention probabilities.
        layer_norm_epsilon: added to the variance.
        initializer_range: standard deviation of the truncated normal initializer.
        attention_size: width of all heads together; None for that of the states.
        attention: in place of `SelfAttention`, for subclasses alone, as it is not saved; one that gives it more
            inputs has a `call` of its own.

    Attributes:
        training_call: computes in training what `call` does, when set, unless a tap or a kernel of the block has a
            transform, or a layer an adapter that does more than add to its product. It belongs to whoever set it and
            is not saved.
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_size: int,
        activation: str = "gelu_tanh",
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        attention_size: int | None = None,
        attention: keras.layers.Layer | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings: dict[str, Any] = {
            "num_heads": num_heads,
            "intermediate_size": intermediate_size,
            "activation": activation,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "layer_norm_epsilon": layer_norm_epsilon,
            "initializer_range": initializer_range,
            "attention_size": attention_size,
        }
        self.training_call: Callable[[Any, Any], Any] | None = None
        policy = self.dtype_policy
        self.attention: Any = attention or SelfAttention(
            num_heads, attention_dropout, initializer_range, attention_size, name="attention", dtype=policy
        )
        self.feed_forward = FeedForward(
            intermediate_size, activation, initializer_range, name="feed_forward", dtype=policy
        )
        for part in ("attention", "feed_forward"):
            norm = keras.layers.LayerNormalization(epsilon=layer_norm_epsilon, name=f"{part}_norm", dtype=policy)
            setattr(self, f"{part}_norm", norm)
            setattr(self, f"{part}_dropout", keras.layers.Dropout(dropout, name=f"{part}_dropout", dtype=policy))
            setattr(self, f"{part}_sum_tap", Tap(f"{part}_sum_tap"))
            setattr(self, f"{part}_norm_tap", Tap(f"{part}_norm_tap"))

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any) -> None:
        """Builds the parts, which all read (batch, length, hidden)."""
        self.attention.build(inputs_shape, attention_bias_shape)
        self._build_rest(inputs_shape)

    def _build_rest(self, inputs_shape: tuple[int | None, ...]) -> None:
        for part in (self.attention_norm, self.feed_forward, self.feed_forward_norm):
            part.build(inputs_shape)

    def call(self, inputs: Any, attention_bias: Any, first_only: bool = False, training: bool = False) -> Any:
        """States and the bias (batch, 1, 1, length) -> the next states.

        Args:
            inputs: (batch, length, hidden).
            attention_bias: hides padding.
            first_only: whether the first token alone is asked for, and nothing trains.
            training: whether it trains.

        Returns:
            (batch, length, hidden), or (batch, 1, hidden), of which symbolic shapes know nothing.
        """
        if first_only:
            first = inputs[:, :1]
            return self._complete(first, self.attention(inputs, attention_bias, asking=first), training=False)
        if training and self.training_call is not None and not self._has_transforms():
            return self.training_call(inputs, attention_bias)
        return self._complete(inputs, self.attention(inputs, attention_bias, training=training), training)

    def _complete(self, inputs: Any, attended: Any, training: bool) -> Any:
        """What follows the attention: inputs and its output, both (batch, length, hidden) -> the same shape."""
        attended = self.attention_dropout(attended, training=training)
        # From here on rows: TensorFlow then fuses product, bias and activation of the feed-forward layer.
        rows = (-1, inputs.shape[-1])
        total = ops.add(ops.reshape(inputs, rows), ops.reshape(attended, rows))
        x = self.attention_norm_tap(self.attention_norm(self.attention_sum_tap(total, training)), training)
        total = ops.add(x, self.feed_forward_dropout(self.feed_forward(x), training=training))
        x = self.feed_forward_norm_tap(self.feed_forward_norm(self.feed_forward_sum_tap(total, training)), training)
        return ops.reshape(x, ops.shape(inputs))

    def _has_transforms(self) -> bool:
        return any(
            (isinstance(part, Dense) and (part.kernel_transform is not None or not _adds(part.adapter)))
            or any(tap.transform is not None for tap in taps_of(part).values())
            for part in self._flatten_layers()
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), **self.settings}


def _adds(adapter: keras.layers.Layer | None) -> bool:
    """Whether an adapter, if there is one, does no more than add to a product."""
    return adapter is None or isinstance(adapter, LowRank)


class VariantEncoderBlock(EncoderBlock):
    """The same block around another attention, for a graph that differs in nothing else of its blocks.

    Args:
        config: of the encoder, or what `EncoderConfig.as_dict` made of it, as saved files have it.
        attention: what stands in the place of `SelfAttention`; a subclass makes it.
    """

    config: EncoderConfig

    def __init__(self, config: EncoderConfig | Mapping[str, Any], attention: keras.layers.Layer, **kwargs: Any) -> None:
        known = as_config(config)
        settings = {name: getattr(known, name) for name in _SETTINGS}
        super().__init__(**settings, attention=attention, **kwargs)
        self.config = known

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments of a subclass, which makes its attention itself."""
        own = {name: value for name, value in super().get_config().items() if name not in _SETTINGS}
        return {**own, "config": self.config.as_dict()}


_SETTINGS = (
    *("num_heads", "intermediate_size", "activation", "dropout", "attention_dropout"),
    *("layer_norm_epsilon", "initializer_range", "attention_size"),
)
