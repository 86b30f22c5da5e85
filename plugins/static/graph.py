"""The graph of static models: token vectors times token weights, whose mean is the vector of a text."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.layers.block import TransformerBlock
from keras_bert.layers.embeddings import TokenEmbedding
from plugins.static.settings import Static


@keras.saving.register_keras_serializable("keras_bert_static")
class StaticBlock(TransformerBlock):
    """Multiplies the vector of each token with its weight; the vectors of ignored tokens become 0.

    The mean over the tokens of a row, special ones included, is that over the tokens that are not ignored: each vector
    is also multiplied with the quotient of both numbers. A row of ignored tokens alone has ones: zeros have no
    direction, and LiteRT gives NaN for them.
    """

    def build(self, states_shape: Any, *further: Any) -> None:
        """Makes the weights (vocabulary_size,)."""
        self.token_weights = self.add_weight(
            name="token_weights", shape=(self.config.vocabulary_size,), initializer="ones", autocast=False
        )

    def compute_output_shape(self, states_shape: Any, *further: Any) -> Any:
        """The shape of the states, which packed ones do not have yet."""
        return (*states_shape[:-1], self.config.hidden_size)

    def call(self, states: Tensor, token_ids: Tensor, padding_mask: Tensor, training: bool = False) -> Tensor:
        """States (batch, length, hidden, or half of it), ids and mask (batch, length) -> (batch, length, hidden)."""
        counted = mask = ops.cast(padding_mask, "float32")
        assert isinstance(self.config.variant, Static)
        for token in self.config.variant.ignored:
            counted = counted * ops.cast(ops.not_equal(token_ids, token), "float32")
        count = ops.sum(counted, axis=1, keepdims=True)
        scale = counted * ops.sum(mask, axis=1, keepdims=True) / ops.maximum(count, 1.0)
        weights = ops.take(ops.convert_to_tensor(self.token_weights), token_ids, axis=0) * scale
        states = unpack(states) if self.config.variant.packed else states
        is_empty = ops.cast(ops.equal(count, 0.0), states.dtype)
        return states * ops.cast(weights, states.dtype)[..., None] + is_empty[..., None]


def unpack(packed: Tensor) -> Tensor:
    """Bytes from -128 to 127 (..., columns / 2) -> the numbers of four bits in them (..., columns), from -8 to 7."""
    numbers = ops.cast(packed, "float32") + 128.0
    # Half a step keeps a byte that an interpreter gives a little below its value.
    first = ops.floor((numbers + 0.5) / 16.0)
    return ops.cast(ops.concatenate([first - 8.0, numbers - 16.0 * first - 8.0], axis=-1), packed.dtype)


def static_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    assert isinstance(config.variant, Static)
    # Bytes of two numbers have no gradient.
    packed = config.variant.packed
    columns = config.hidden_size // 2 if packed else config.hidden_size
    tokens = TokenEmbedding(
        config.vocabulary_size, columns, config.initializer_range, name="token_embedding", trainable=not packed
    )
    ids = inputs["token_ids"]
    return StaticBlock(config, name="block_0")(tokens(ids), ids, inputs["padding_mask"])
