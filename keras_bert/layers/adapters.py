"""Small layers beside a frozen one: each is called with what that one reads and with what it says."""

import math
from typing import Any

import keras
from keras import ops

from keras_bert.layers.attachments import Attachments
from keras_bert.layers.dense import Dense
from keras_bert.layers.feed_forward import gelu_erf
from keras_bert.layers.tap import Tap
from keras_bert.tensors import Tensor


class LowRank(keras.layers.Layer):
    """y + alpha / rank x A B (Hu et al. 2022, section 4.1): the kernel of the layer beside it moves by a thin product.

    Args:
        rank: columns of A.
        alpha: the factor times the rank.
        dropout: rate on x.
    """

    def __init__(self, rank: int, alpha: float, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rank, self.factor = rank, alpha / rank
        self.dropout = keras.layers.Dropout(dropout, name="dropout", dtype=self.dtype_policy)

    def build(self, inputs_shape: tuple[int | None, ...], outputs_shape: tuple[int | None, ...]) -> None:
        """Makes A (inputs, rank), random, and B (rank, units), zeros: at first nothing changes (section 4.1)."""
        inputs = inputs_shape[-1]
        assert inputs is not None
        # The released code's kaiming_uniform_ with a = sqrt(5).
        limit = 1 / math.sqrt(inputs)
        start = keras.initializers.RandomUniform(-limit, limit)
        self.down = self.add_weight(name="down", shape=(inputs, self.rank), initializer=start)
        self.up = self.add_weight(name="up", shape=(self.rank, outputs_shape[-1]), initializer="zeros")

    def call(self, inputs: Tensor, outputs: Tensor, training: bool = False) -> Tensor:
        """(rows, inputs), (rows, units) -> (rows, units)."""
        inputs = ops.cast(inputs, self.compute_dtype)
        change = ops.matmul(ops.matmul(self.dropout(inputs, training=training), self.down), self.up)
        return ops.add(outputs, ops.cast(ops.multiply(change, self.factor), outputs.dtype))

    def change(self) -> Any:
        """What it adds to the kernel beside it (inputs, units)."""
        return ops.multiply(ops.matmul(self.down, self.up), self.factor)


class BottleneckAdapter(keras.layers.Layer):
    """y + W2 gelu(W1 y + b1) + b2 (Houlsby et al. 2019, section 2.1, figure 2).

    Args:
        size: width of W1's result.
    """

    # Section 3.6: a start so near to the identity does as well as any below.
    _SPREAD = 1e-3

    def __init__(self, size: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = size
        self.activation_tap = Tap("activation_tap")

    def build(self, inputs_shape: Any, outputs_shape: tuple[int | None, ...]) -> None:
        """Makes W1 (units, size) and W2 (size, units)."""
        units = outputs_shape[-1]
        assert units is not None
        self.down = Dense(self.size, self._SPREAD, name="down", dtype=self.dtype_policy)
        self.down.build((None, units))
        self.up = Dense(units, self._SPREAD, name="up", dtype=self.dtype_policy)
        self.up.build((None, self.size))

    def call(self, inputs: Tensor, outputs: Tensor, training: bool = False) -> Tensor:
        """Of the layer beside it: what it reads, which is of no matter, and (rows, units) -> (rows, units)."""
        hidden = self.activation_tap(gelu_erf(self.down(outputs)), training)
        return ops.add(outputs, self.up(hidden))


class SoftPrompt(keras.layers.Layer):
    """Puts learned vectors into the place of the first tokens' (Lester et al. 2021, section 2).

    Args:
        tokens: how many.
    """

    def __init__(self, tokens: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tokens = tokens

    def build(self, inputs_shape: Any, outputs_shape: tuple[int | None, ...]) -> None:
        """Makes the vectors (tokens, hidden)."""
        self.vectors = self.add_weight(
            name="vectors", shape=(self.tokens, outputs_shape[-1]), initializer="zeros", autocast=False
        )

    def call(self, inputs: Tensor, outputs: Tensor, training: bool = False) -> Tensor:
        """Ids (batch, length), their vectors (batch, length, hidden) -> (batch, length, hidden)."""
        vectors = ops.cast(ops.convert_to_tensor(self.vectors), outputs.dtype)[None]
        rest = outputs[:, self.tokens :]
        # Added to zeros of the rest's own batch: its size is not known when a file is written.
        return ops.concatenate([ops.add(ops.zeros_like(outputs[:, : self.tokens]), vectors), rest], axis=1)


class PromptBorder(keras.layers.Layer):
    """A place where a graph has to know of a prompt: it comes in there, or leaves, or is seen otherwise than a text.

    Attributes:
        tokens: of the prompt; it belongs to whoever set it and is not saved.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tokens = 0


@keras.saving.register_keras_serializable("keras_bert")
class PromptPlaces(PromptBorder):
    """Makes room for a prompt in front of an encoder's inputs; without one it passes them on.

    It is the first layer of every encoder, and each call of a model on the encoder comes through it.

    Attributes:
        attachments: the adapter that is attached to the encoder; the layer alone keeps it, files do not.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.attachments = Attachments()

    def call(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Inputs by name, each int32 (batch, length) -> the same of tokens + length.

        A prompt's ids and segments are 0, and it is no padding.

        Raises:
            ValueError: the model that is called has an adapter, which is detached.
        """
        self.attachments.enter(self._get_call_context().entry_layer)
        if not self.tokens:
            return inputs
        return {name: self._lengthened(value, int(name == "padding_mask")) for name, value in inputs.items()}

    def _lengthened(self, value: Tensor, filling: int) -> Tensor:
        return ops.pad(value, ((0, 0), (self.tokens, 0)), constant_values=filling)

    def compute_output_spec(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The inputs' own shapes: models are made without a prompt."""
        return {name: keras.KerasTensor(value.shape, value.dtype) for name, value in inputs.items()}


@keras.saving.register_keras_serializable("keras_bert")
class TokenStates(PromptBorder):
    """The states of the tokens alone, without those of a prompt in front of them."""

    def call(self, inputs: Tensor) -> Tensor:
        """(batch, tokens + length, hidden) -> (batch, length, hidden)."""
        return inputs[:, self.tokens :] if self.tokens else inputs


@keras.saving.register_keras_serializable("keras_bert")
class DecodedStates(TokenStates):
    """The decoder's states of the tokens, in a model that keeps the encoder's own final states as well.

    A Keras model holds what leads to its outputs; the last block's own call would not, and the encoder inside the model
    would be lost. What this layer does not read is not computed.
    """

    def call(self, inputs: Tensor, final: Tensor) -> Tensor:  # type: ignore[override]
        """(batch, tokens + length, hidden), final states (batch, length, hidden) -> the shape of the latter."""
        return super().call(inputs)
