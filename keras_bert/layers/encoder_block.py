"""BERT's encoder block: self-attention and a feed-forward layer, each followed by dropout, residual and LayerNorm."""

from collections.abc import Callable, Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.layers.adapters import LowRankAdapter
from keras_bert.layers.attention import SelfAttention
from keras_bert.layers.block import TransformerBlock
from keras_bert.layers.dense import Dense, as_rows
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.feed_forward import FeedForward
from keras_bert.layers.tap import Tap, taps_of


@keras.saving.register_keras_serializable("keras_bert")
class EncoderBlock(TransformerBlock):
    """BERT's post-norm encoder block: LayerNorm(x + sub-layer(x)), twice (Vaswani et al. 2017, section 3.1).

    A subclass passes its own `attention` or `feed_forward`, and overrides `call` if such a layer has more inputs. The
    configuration of the block does not hold them.

    Attributes:
        training_call: a faster function that replaces `call` in training; None for `call`. `call` is still used while a
            tap or a kernel of the block has a transform, or a layer of the block has an adapter other than LoRA. The
            function is not saved.
    """

    def __init__(
        self,
        config: EncoderConfig | Mapping[str, Any],
        attention: keras.layers.Layer | None = None,
        feed_forward: keras.layers.Layer | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, **kwargs)
        self.training_call: Callable[[Any, Any], Any] | None = None
        config, policy = self.config, self.dtype_policy
        self.attention: Any = attention or SelfAttention(
            config.num_heads,
            config.attention_dropout,
            config.initializer_range,
            config.attention_size,
            name="attention",
            dtype=policy,
        )
        self.feed_forward: Any = feed_forward or FeedForward(
            config.intermediate_size, config.activation, config.initializer_range, name="feed_forward", dtype=policy
        )
        for part in ("attention", "feed_forward"):
            norm = keras.layers.LayerNormalization(epsilon=config.layer_norm_epsilon, name=f"{part}_norm", dtype=policy)
            dropout = Dropout(config.dropout, name=f"{part}_dropout", dtype=policy)
            setattr(self, f"{part}_norm", norm)
            setattr(self, f"{part}_dropout", dropout)
            setattr(self, f"{part}_sum_tap", Tap(f"{part}_sum_tap"))
            setattr(self, f"{part}_norm_tap", Tap(f"{part}_norm_tap"))

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any) -> None:
        """Builds the sublayers for inputs (batch, length, hidden)."""
        self.attention.build(inputs_shape, attention_bias_shape)
        self._build_after_attention(inputs_shape)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        return {name: value for name, value in config.items() if name not in ("attention", "feed_forward")}

    def _build_after_attention(self, inputs_shape: tuple[int | None, ...]) -> None:
        for part in (self.attention_norm, self.feed_forward, self.feed_forward_norm):
            part.build(inputs_shape)

    def call(self, inputs: Tensor, attention_bias: Tensor, first_only: bool = False, training: bool = False) -> Tensor:
        """Computes the next states (batch, length, hidden); the bias (batch, 1, 1, length) masks padding.

        The bias may also differ between heads and queries: (batch, heads, length, length). With `first_only`, for
        inference, only the state of the first token is computed: (batch, 1, hidden). Symbolic shapes still show the
        full length.
        """
        if first_only:
            first = inputs[:, :1]
            bias = attention_bias if attention_bias.shape[2] == 1 else attention_bias[:, :, :1]
            attended = self.attention(inputs, bias, query_states=first)
            return self._add_and_feed_forward(first, attended, training=False)
        if training and self.training_call is not None and not has_transforms(self):
            return self.training_call(inputs, attention_bias)
        return self._add_and_feed_forward(inputs, self.attention(inputs, attention_bias, training=training), training)

    def _add_and_feed_forward(self, inputs: Tensor, attended: Tensor, training: bool) -> Tensor:
        """Computes the block after its attention: inputs and attention outputs (batch, length, hidden) -> states."""
        total = ops.add(as_rows(inputs), as_rows(self.attention_dropout(attended, training=training)))
        x = self.attention_norm_tap(self.attention_norm(self.attention_sum_tap(total, training)), training)
        total = ops.add(x, self.feed_forward_dropout(self.feed_forward(x), training=training))
        x = self.feed_forward_norm_tap(self.feed_forward_norm(self.feed_forward_sum_tap(total, training)), training)
        return x if len(x.shape) == len(inputs.shape) else ops.reshape(x, ops.shape(inputs))


def has_transforms(layer: keras.layers.Layer) -> bool:
    """Whether a tap or a kernel within a layer has a transform, or a layer in it an adapter other than LoRA."""
    # A low-rank adapter only adds a term to the outputs.
    return any(
        (
            isinstance(part, Dense)
            and (part.kernel_transform is not None or not isinstance(part.adapter, LowRankAdapter | None))
        )
        or any(tap.transform is not None for tap in taps_of(part).values())
        for part in layer._flatten_layers()
    )
