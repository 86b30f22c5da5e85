"""Adapter layers: each receives the inputs and the outputs of the frozen layer that it is attached to."""

import math
from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.attachments import Attachments
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.feed_forward import gelu_erf
from keras_bert.layers.tap import Tap


class LowRankAdapter(keras.layers.Layer):
    """LoRA: adds a low-rank update, outputs + alpha / rank * inputs A B (Hu et al. 2022, section 4.1).

    A has `rank` columns; the dropout is on its inputs.
    """

    def __init__(self, rank: int, alpha: float, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rank, self.scale = rank, alpha / rank
        self.dropout = Dropout(dropout, name="dropout", dtype=self.dtype_policy)

    def build(self, inputs_shape: tuple[int | None, ...], outputs_shape: tuple[int | None, ...]) -> None:
        """Makes A (inputs, rank), random, and B (rank, units), zeros: the initial update is zero (section 4.1)."""
        inputs = inputs_shape[-1]
        assert inputs is not None
        # As kaiming_uniform_ with a = sqrt(5) in the released code.
        limit = 1 / math.sqrt(inputs)
        initializer = keras.initializers.RandomUniform(-limit, limit)
        self.down = self.add_weight(name="down", shape=(inputs, self.rank), initializer=initializer)
        self.up = self.add_weight(name="up", shape=(self.rank, outputs_shape[-1]), initializer="zeros")

    def call(self, inputs: Tensor, outputs: Tensor, training: bool = False) -> Tensor:
        """Inputs (rows, inputs) and outputs (rows, units) of the frozen layer -> new outputs (rows, units)."""
        inputs = ops.cast(inputs, self.compute_dtype)
        update = ops.matmul(ops.matmul(self.dropout(inputs, training=training), self.down), self.up)
        return ops.add(outputs, ops.cast(ops.multiply(update, self.scale), outputs.dtype))

    def kernel_update(self) -> Any:
        """The update of the frozen layer's kernel, alpha / rank A B (inputs, units)."""
        return ops.multiply(ops.matmul(self.down, self.up), self.scale)


class BottleneckAdapter(keras.layers.Layer):
    """Bottleneck adapter: outputs + W2 gelu(W1 outputs + b1) + b2 (Houlsby et al. 2019, section 2.1, figure 2).

    `size` is the width between W1 and W2.
    """

    # Section 3.6: smaller initial weights do not improve the accuracy.
    _INITIALIZER_RANGE = 1e-3

    def __init__(self, size: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = size
        self.activation_tap = Tap("activation_tap")

    def build(self, inputs_shape: Any, outputs_shape: tuple[int | None, ...]) -> None:
        """Makes W1 (units, size) and W2 (size, units)."""
        units = outputs_shape[-1]
        assert units is not None
        self.down = Dense(self.size, self._INITIALIZER_RANGE, name="down", dtype=self.dtype_policy)
        self.down.build((None, units))
        self.up = Dense(units, self._INITIALIZER_RANGE, name="up", dtype=self.dtype_policy)
        self.up.build((None, self.size))

    def call(self, inputs: Tensor, outputs: Tensor, training: bool = False) -> Tensor:
        """Inputs (unused) and outputs (rows, units) of the frozen layer -> new outputs (rows, units)."""
        return ops.add(outputs, self.up(self.activation_tap(gelu_erf(self.down(outputs)), training)))


class SoftPrompt(keras.layers.Layer):
    """Prompt tuning: learned vectors in place of the first tokens' embeddings (Lester et al. 2021, section 2)."""

    def __init__(self, tokens: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tokens = tokens

    def build(self, inputs_shape: Any, outputs_shape: tuple[int | None, ...]) -> None:
        """Makes the vectors (tokens, hidden)."""
        self.vectors = self.add_weight(
            name="vectors", shape=(self.tokens, outputs_shape[-1]), initializer="zeros", autocast=False
        )

    def call(self, inputs: Tensor, outputs: Tensor, training: bool = False) -> Tensor:
        """Token ids (batch, length), their embeddings (batch, length, hidden) -> (batch, length, hidden)."""
        vectors = ops.cast(ops.convert_to_tensor(self.vectors), outputs.dtype)[None]
        text = outputs[:, self.tokens :]
        # Adding zeros broadcasts to the batch size, which is unknown when a model is exported.
        return ops.concatenate([ops.add(ops.zeros_like(outputs[:, : self.tokens]), vectors), text], axis=1)


class PromptAwareLayer(keras.layers.Layer):
    """The base class of layers that depend on the length of a soft prompt, `tokens`, which an adapter sets."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tokens = 0


@keras.saving.register_keras_serializable("keras_bert")
class PromptPlaces(PromptAwareLayer):
    """Prepends placeholder tokens for a soft prompt to an encoder's inputs; without a prompt it is an identity.

    It is the first layer of every encoder: each call of a model that contains the encoder passes through it. Its
    `attachments` hold the adapter of the encoder; they are not saved.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.attachments = Attachments()

    def call(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Inputs by name, each int32 (batch, length) -> the same inputs (batch, tokens + length).

        The ids and segments of a prompt are 0, and its padding mask is 1.
        """
        self.attachments.enter(self._get_call_context().entry_layer)
        if not self.tokens:
            return inputs
        return {
            name: ops.pad(value, ((0, 0), (self.tokens, 0)), constant_values=int(name == "padding_mask"))
            for name, value in inputs.items()
        }

    def compute_output_spec(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The specs of the inputs, unchanged: models are built without a prompt."""
        return {name: keras.KerasTensor(value.shape, value.dtype) for name, value in inputs.items()}


@keras.saving.register_keras_serializable("keras_bert")
class TokenStates(PromptAwareLayer):
    """Removes the hidden states of a soft prompt, which precede the states of the text."""

    def call(self, inputs: Tensor) -> Tensor:
        """(batch, tokens + length, hidden) -> (batch, length, hidden)."""
        return inputs[:, self.tokens :] if self.tokens else inputs


@keras.saving.register_keras_serializable("keras_bert")
class DecodedStates(TokenStates):
    """Returns the states of DeBERTa's mask decoder, and keeps the encoder's final states in the model's graph.

    A Keras model contains only layers on a path to its outputs, and the decoder does not depend on the encoder's final
    states: without this layer `encoder_of` would not find them. They are an unused input, hence never computed.
    """

    def call(self, inputs: Tensor, final: Tensor) -> Tensor:  # type: ignore[override]
        """(batch, tokens + length, hidden), final states (batch, length, hidden) -> the shape of the latter."""
        return super().call(inputs)
