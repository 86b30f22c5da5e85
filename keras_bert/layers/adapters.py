"""Small layers beside a frozen layer: each is called with the inputs and the outputs of that layer."""

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
    """y + alpha / rank x A B (Hu et al. 2022, section 4.1): adds a product of two thin matrices to a kernel.

    Args:
        rank: columns of A.
        alpha: the factor of the product, times the rank.
        dropout: the dropout rate on x.

    Examples:
        >>> layer, inputs, outputs = LowRank(rank=2, alpha=4.0), ops.ones((3, 8)), ops.ones((3, 4))
        >>> bool(ops.all(layer(inputs, outputs) == outputs))  # B begins with zeros
        True
        >>> ops.shape(layer.change())
        (8, 4)
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
        """Inputs (rows, inputs) and outputs (rows, units) of the layer -> new outputs (rows, units)."""
        inputs = ops.cast(inputs, self.compute_dtype)
        change = ops.matmul(ops.matmul(self.dropout(inputs, training=training), self.down), self.up)
        return ops.add(outputs, ops.cast(ops.multiply(change, self.factor), outputs.dtype))

    def change(self) -> Any:
        """The product that is added to the kernel, alpha / rank A B (inputs, units)."""
        return ops.multiply(ops.matmul(self.down, self.up), self.factor)


class BottleneckAdapter(keras.layers.Layer):
    """y + W2 gelu(W1 y + b1) + b2 (Houlsby et al. 2019, section 2.1, figure 2).

    Args:
        size: the width between W1 and W2.

    Examples:
        >>> inputs, outputs = ops.ones((3, 8)), ops.ones((3, 4))
        >>> ops.shape(BottleneckAdapter(size=2)(inputs, outputs))
        (3, 4)
    """

    # Section 3.6: initial weights as small as these do as well as smaller ones.
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
        """Inputs, which are not read, and outputs (rows, units) of the layer -> new outputs (rows, units)."""
        hidden = self.activation_tap(gelu_erf(self.down(outputs)), training)
        return ops.add(outputs, self.up(hidden))


class SoftPrompt(keras.layers.Layer):
    """Replaces the vectors of the first tokens by learned ones (Lester et al. 2021, section 2).

    Args:
        tokens: the number of learned vectors.

    Examples:
        >>> ids, vectors = ops.zeros((1, 5), "int32"), ops.ones((1, 5, 8))
        >>> np.sum(SoftPrompt(tokens=2)(ids, vectors), axis=-1).tolist()  # the learned vectors begin with zeros
        [[0.0, 0.0, 8.0, 8.0, 8.0]]
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
        # Added to zeros of the same batch size, which is not known when a file is written.
        return ops.concatenate([ops.add(ops.zeros_like(outputs[:, : self.tokens]), vectors), rest], axis=1)


class PromptBorder(keras.layers.Layer):
    """The base of layers that insert a prompt into a graph, remove it, or treat it otherwise than the text.

    Attributes:
        tokens: the number of tokens of the prompt, 0 without one. An adapter sets it; it is not saved.

    Examples:
        >>> PromptBorder().tokens  # none, until an adapter sets it
        0
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tokens = 0


@keras.saving.register_keras_serializable("keras_bert")
class PromptPlaces(PromptBorder):
    """Makes room for a prompt in front of an encoder's inputs; without one it passes them on.

    It is the first layer of every encoder, and each call of a model on the encoder comes through it.

    Attributes:
        attachments: the adapter that is attached to the encoder; it is not saved.

    Examples:
        >>> places = PromptPlaces()
        >>> places.tokens = 2
        >>> inputs = {"token_ids": ops.full((1, 3), 7, "int32"), "padding_mask": ops.ones((1, 3), "int32")}
        >>> {name: np.asarray(value).tolist() for name, value in places(inputs).items()}
        {'token_ids': [[0, 0, 7, 7, 7]], 'padding_mask': [[1, 1, 1, 1, 1]]}
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.attachments = Attachments()

    def call(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Inputs by name, each int32 (batch, length) -> the same inputs (batch, tokens + length).

        The ids and segments of a prompt are 0, and its padding mask is 1.

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
        """The shapes of the inputs: models are built without a prompt."""
        return {name: keras.KerasTensor(value.shape, value.dtype) for name, value in inputs.items()}


@keras.saving.register_keras_serializable("keras_bert")
class TokenStates(PromptBorder):
    """Removes the states of a prompt in front of those of the tokens.

    Examples:
        >>> token_states = TokenStates()
        >>> token_states.tokens = 2
        >>> ops.shape(token_states(ops.ones((1, 5, 8))))
        (1, 3, 8)
    """

    def call(self, inputs: Tensor) -> Tensor:
        """(batch, tokens + length, hidden) -> (batch, length, hidden)."""
        return inputs[:, self.tokens :] if self.tokens else inputs


@keras.saving.register_keras_serializable("keras_bert")
class DecodedStates(TokenStates):
    """The decoder's states of the tokens, in a model that keeps the encoder's own final states as well.

    A Keras model keeps the layers that lead to its outputs. The final states do not lead to the decoder's, so that
    without this layer the encoder inside the model would be lost. They are not read, hence not computed.

    Examples:
        >>> decoded, final = ops.zeros((1, 5, 8)), ops.ones((1, 5, 8))
        >>> float(ops.max(DecodedStates()(decoded, final)))
        0.0
    """

    def call(self, inputs: Tensor, final: Tensor) -> Tensor:  # type: ignore[override]
        """(batch, tokens + length, hidden), final states (batch, length, hidden) -> the shape of the latter."""
        return super().call(inputs)
