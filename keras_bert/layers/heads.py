"""Layers of heads: pooling, and the transforms and output layers of pre-training."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.block import SavedLayer
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.feed_forward import ACTIVATIONS
from keras_bert.layers.tap import SEPARATOR, Tap

_POOLER_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"tanh": ops.tanh, **ACTIVATIONS}


@keras.saving.register_keras_serializable("keras_bert")
class Pooler(SavedLayer):
    """BERT's pooler: activation(W h + b) of the first token's state h (Devlin et al. 2019, released `modeling.py`).

    The activation is `tanh` as in BERT, a key of `feed_forward.ACTIVATIONS`, or `none` for h itself; the dropout is on
    h, 0 in BERT.
    """

    def __init__(
        self, initializer_range: float = 0.02, activation: str = "tanh", dropout: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.initializer_range = initializer_range
        self.activation = activation
        self.dropout = Dropout(dropout, name="dropout", dtype=self.dtype_policy)
        self.output_tap = Tap("output_tap")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes W (hidden, hidden) unless the activation is `none`."""
        if self.activation == "none":
            return
        hidden_size = input_shape[-1]
        assert hidden_size is not None
        self.dense = Dense(hidden_size, self.initializer_range, name="dense", dtype=self.dtype_policy)
        self.dense.build((input_shape[0], hidden_size))

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(batch, length, hidden) -> (batch, hidden)."""
        first = self.dropout(inputs[:, 0], training=training)
        if self.activation == "none":
            return self.output_tap(first, training)
        return self.output_tap(_POOLER_ACTIVATIONS[self.activation](self.dense(first)), training)


@keras.saving.register_keras_serializable("keras_bert")
class MeanPooler(keras.layers.Layer):
    """The mean of the final states of all tokens except padding (Reimers and Gurevych 2019, section 3)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.output_tap = Tap("output_tap")

    def call(self, inputs: Tensor, padding_mask: Tensor, training: bool = False) -> Tensor:
        """(batch, length, hidden), 1 for a token and 0 for padding (batch, length) -> (batch, hidden).

        A row that contains only padding gives 0.
        """
        weights = ops.expand_dims(ops.cast(padding_mask, self.compute_dtype), 1)
        total = ops.squeeze(ops.matmul(weights, inputs), 1)
        return self.output_tap(ops.divide(total, ops.maximum(ops.sum(weights, axis=2), 1.0)), training)


@keras.saving.register_keras_serializable("keras_bert")
class FirstTokenPooler(keras.layers.Layer):
    """`[CLS]` pooling: the final state of the first token (Reimers and Gurevych 2019, section 3)."""

    def call(self, inputs: Tensor) -> Tensor:
        """(batch, length, hidden) -> (batch, hidden)."""
        return inputs[:, 0]


@keras.saving.register_keras_serializable("keras_bert")
class StatePooler(SavedLayer):
    """A pooling of `VECTOR_POOLINGS`, or several joined by `+`, whose vectors are concatenated (sentence-transformers).

    `cls` is the first state, `lasttoken` the last one, `max` the largest number of all states at each entry,
    `mean_sqrt_len_tokens` the sum divided by the square root of the number of tokens, and `weightedmean` the mean with
    the weights 1, 2, 3 and so on (Muennighoff 2022).
    """

    def __init__(self, pooling: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pooling = pooling
        self.pooled_tap = Tap("pooled_tap")

    def call(self, inputs: Tensor, padding_mask: Tensor, training: bool = False) -> Tensor:
        """(batch, length, hidden), 1 for a token and 0 for padding (batch, length) -> (batch, poolings * hidden)."""
        names = self.pooling.split("+")
        vectors = [self._pool(name, inputs, padding_mask) for name in names]
        if len(names) > 1 and "mean_sqrt_len_tokens" in names:
            # In an integer file, a state that is only copied would impose its own range on the concatenated vector. The
            # range of a state is too small for a sum of states.
            vectors = [ops.multiply(vector, SEPARATOR) for vector in vectors]
        return self.pooled_tap(ops.concatenate(vectors, axis=-1), training)

    def _pool(self, name: str, states: Tensor, padding_mask: Tensor) -> Tensor:
        if name == "cls":
            return states[:, 0]
        if name == "max":
            # Padding gets the smallest number of the row, which does not change the maximum.
            least = ops.min(states, axis=1, keepdims=True)
            return ops.max(ops.where(ops.expand_dims(padding_mask, 2) > 0, states, least), axis=1)
        mask = ops.cast(padding_mask, "float32")
        positions = ops.arange(1, ops.shape(mask)[1] + 1, dtype="int32")
        weights = mask
        if name == "weightedmean":
            weights = mask * ops.cast(positions, "float32")
        elif name == "lasttoken":
            # In int32, because int8 would quantize position and count differently, and they would never be equal.
            count = ops.sum(ops.cast(padding_mask, "int32"), axis=1, keepdims=True)
            weights = mask * ops.cast(ops.equal(positions, count), "float32")
        total = ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1.0)
        weights = weights / (ops.sqrt(total) if name == "mean_sqrt_len_tokens" else total)
        return ops.squeeze(ops.matmul(ops.expand_dims(ops.cast(weights, states.dtype), 1), states), 1)


@keras.saving.register_keras_serializable("keras_bert")
class Projections(SavedLayer):
    """Dense layers behind the pooling of an embedding; `projections` are the values of `Projection`."""

    def __init__(self, projections: Sequence[Mapping[str, Any]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.projections = [dict(projection) for projection in projections]
        self.dense = [
            Dense(projection["units"], use_bias=projection["use_bias"], name=f"dense_{number}", dtype=self.dtype_policy)
            for number, projection in enumerate(self.projections)
        ]
        # Each product reads from a tap: that of the activation before it or, without one, of the layer before it.
        for number, projection in enumerate(self.projections):
            if projection["activation"] != "none":
                setattr(self, f"output_tap_{number}", Tap(f"output_tap_{number}"))

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes W (inputs, units) of each layer, and b (units,)."""
        for layer in self.dense:
            layer.build(input_shape)
            input_shape = (input_shape[0], layer.units)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(batch, hidden) -> (batch, units of the last layer)."""
        for number, (layer, projection) in enumerate(zip(self.dense, self.projections, strict=True)):
            inputs = layer(inputs, training=training)
            if projection["activation"] != "none":
                activated = _POOLER_ACTIVATIONS[projection["activation"]](inputs)
                inputs = getattr(self, f"output_tap_{number}")(activated, training)
        return inputs


@keras.saving.register_keras_serializable("keras_bert")
class Truncation(SavedLayer):
    """The first `width` numbers of a vector, which can be compared after Matryoshka training (Kusupati et al. 2022)."""

    def __init__(self, width: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.width = width

    def call(self, inputs: Tensor) -> Tensor:
        """(batch, hidden) -> (batch, width)."""
        return inputs[:, : self.width]


@keras.saving.register_keras_serializable("keras_bert")
class CrossCosine(keras.layers.Layer):
    """The cosines of all first vectors of a batch with all second ones."""

    def call(self, first: Tensor, second: Tensor) -> Tensor:
        """(batch, hidden), (batch, hidden) -> (batch, batch)."""
        return ops.matmul(ops.normalize(first, axis=-1), ops.transpose(ops.normalize(second, axis=-1)))

    def compute_output_shape(self, first_shape: Any, second_shape: Any) -> tuple[None, None]:
        """Both axes are the batch."""
        return None, None


@keras.saving.register_keras_serializable("keras_bert")
class PredictionHead(SavedLayer):
    """A dense layer with LayerNorm before an output layer, LayerNorm(activation(W h + b)).

    It is BERT's transform of masked tokens (Devlin et al. 2019, released code, `get_masked_lm_output`), and the first
    layer of ModernBERT's heads, which has neither b nor LayerNorm's beta (`use_bias`). The output is as wide as the
    states unless `units` is set.
    """

    def __init__(
        self,
        activation: str = "gelu_tanh",
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        units: int | None = None,
        use_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.units = units
        self.use_bias = use_bias
        self.initializer_range = initializer_range
        self.norm = keras.layers.LayerNormalization(
            epsilon=layer_norm_epsilon, center=use_bias, name="norm", dtype=self.dtype_policy
        )

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Makes W (hidden, units)."""
        units = self.units or inputs_shape[-1]
        assert units is not None
        self.dense = Dense(units, self.initializer_range, self.use_bias, name="dense", dtype=self.dtype_policy)
        self.dense.build(inputs_shape)
        self.norm.build((*inputs_shape[:-1], units))

    def call(self, inputs: Tensor) -> Tensor:
        """(..., hidden) -> (..., units)."""
        return self.norm(ACTIVATIONS[self.activation](self.dense(inputs)))


@keras.saving.register_keras_serializable("keras_bert")
class MaskedTokenTransform(PredictionHead):
    """A `PredictionHead` that computes only the masked positions (released code, `gather_indexes`).

    With 20 predictions in 128 tokens this saves 84 % of the product with the token embedding, the largest matrix
    product of a small model. The arguments are those of `PredictionHead`.
    """

    def build(self, inputs_shape: tuple[int | None, ...], mask_positions_shape: Any = None) -> None:
        super().build(inputs_shape)

    def call(self, inputs: Tensor, mask_positions: Tensor) -> Tensor:  # type: ignore[override]
        """(batch, length, hidden), positions (batch, predictions) -> (batch, predictions, units)."""
        return super().call(ops.take_along_axis(inputs, mask_positions[:, :, None], axis=1))


@keras.saving.register_keras_serializable("keras_bert")
class OutputColumns(SavedLayer):
    """Extra columns of the output matrix, for states that are wider than the token embedding.

    MobileBERT's masked-token head multiplies the first columns of the states by the token embedding, the others by this
    matrix, and adds both (Sun et al. 2020, released code, `run_pretraining.py`, `extra_output_weights`).
    """

    def __init__(self, columns: int, initializer_range: float = 0.02, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.columns = columns
        self.initializer_range = initializer_range

    def build(self, inputs_shape: tuple[int | None, ...], scores_shape: tuple[int | None, ...]) -> None:
        """Makes the matrix (vocabulary, columns)."""
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(scores_shape[-1], self.columns),
            initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
            autocast=False,  # as for the token embedding
        )

    def call(self, inputs: Tensor, scores: Tensor) -> Tensor:
        """(..., hidden), scores of the first columns (..., vocabulary) -> scores of all columns (..., vocabulary)."""
        table = ops.transpose(ops.cast(self.embeddings, inputs.dtype))
        return ops.add(scores, ops.matmul(inputs[..., -self.columns :], table))

    def compute_output_shape(self, inputs_shape: Any, scores_shape: tuple[int | None, ...]) -> Any:
        """The shape of the scores."""
        return scores_shape


@keras.saving.register_keras_serializable("keras_bert")
class OutputBias(keras.layers.Layer):
    """Adds a learned bias to the score of each vocabulary entry."""

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes the bias (vocabulary,)."""
        self.bias = self.add_weight(name="bias", shape=(input_shape[-1],), initializer="zeros")

    def call(self, inputs: Tensor) -> Tensor:
        """(..., vocabulary) -> (..., vocabulary)."""
        return ops.add(inputs, self.bias)


@keras.saving.register_keras_serializable("keras_bert")
class ReplacedTokenTransform(SavedLayer):
    """The hidden layer of ELECTRA's discriminator head, activation(W h + b) of every token.

    Clark et al. 2020, released code, `run_pretraining.py`.
    """

    def __init__(self, activation: str = "gelu_tanh", initializer_range: float = 0.02, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activation
        self.initializer_range = initializer_range
        self.activation_tap = Tap("activation_tap")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes W (hidden, hidden)."""
        hidden_size = input_shape[-1]
        assert hidden_size is not None
        self.dense = Dense(hidden_size, self.initializer_range, name="dense", dtype=self.dtype_policy)
        self.dense.build(input_shape)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(batch, length, hidden) -> (batch, length, hidden)."""
        return self.activation_tap(ACTIVATIONS[self.activation](self.dense(inputs)), training)
