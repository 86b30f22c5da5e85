"""Token, position and segment embeddings (Devlin et al. 2019, section 3, figure 2), and their projection."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.block import SavedLayer
from keras_bert.layers.dense import Dense
from keras_bert.layers.tap import Tap


@keras.saving.register_keras_serializable("keras_bert")
class TokenEmbedding(SavedLayer):
    """Token embedding; its table is also the output matrix of the masked-token head (`reverse`).

    With a rank the vectors are the product of a table (vocabulary_size, rank) and a matrix `factor` (rank,
    hidden_size), which have fewer weights.

    Attributes:
        adapter: a layer that is called with token ids and vectors and returns new vectors; None for no adapter.
        table_transform: a function that is applied to the table at every call; it is not saved. None for no function.
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_size: int,
        initializer_range: float = 0.02,
        rank: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.hidden_size = hidden_size
        self.initializer_range = initializer_range
        self.rank = rank
        self.factor: Dense | None = None
        self.table_transform: Callable[[Any], Any] | None = None
        self.output_tap = Tap("output_tap")
        self.adapter: keras.layers.Layer | None = None

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes the table (vocabulary_size, rank or else hidden_size), and with a rank the factor."""
        spread, columns = self.initializer_range, self.rank or self.hidden_size
        # No autocast: only the gathered rows are cast, not the large table, and gradients are summed in float32.
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocabulary_size, columns),
            initializer=keras.initializers.TruncatedNormal(stddev=spread),
            autocast=False,
        )
        if self.rank is not None:
            # With this standard deviation, the vectors have the variance of those in a table without a rank.
            self.factor = Dense(
                self.hidden_size, 1 / math.sqrt(columns), use_bias=False, name="factor", dtype=self.dtype_policy
            )
            self.factor.build((None, columns))

    def matrix(self) -> Any:
        """The vectors of all tokens (vocabulary_size, hidden_size)."""
        table = ops.convert_to_tensor(self.embeddings)
        return table if self.factor is None else ops.matmul(table, ops.convert_to_tensor(self.factor.kernel))

    def call(self, inputs: Tensor, reverse: bool = False, training: bool = False) -> Tensor:
        """Ids (...) -> vectors (..., hidden); with `reverse`, vectors (..., hidden) -> scores (..., vocabulary).

        With `reverse`, wider vectors are cut to their first `hidden_size` columns.
        """
        table = _transform_table(self.embeddings, self.table_transform)
        if reverse:
            if inputs.shape[-1] != self.hidden_size:
                inputs = inputs[..., : self.hidden_size]
            if self.factor is not None:
                inputs = ops.matmul(inputs, ops.transpose(ops.cast(self.factor.kernel, inputs.dtype)))
            return ops.matmul(inputs, ops.transpose(ops.cast(table, inputs.dtype)))
        vectors = self.output_tap(ops.cast(ops.take(table, inputs, axis=0), self.compute_dtype), training)
        if self.factor is not None:
            vectors = self.factor(vectors, training=training)
        return vectors if self.adapter is None else self.adapter(inputs, vectors, training=training)


@keras.saving.register_keras_serializable("keras_bert")
class PositionEmbedding(SavedLayer):
    """Adds a learned vector for each position; inputs longer than `max_length` raise an error.

    `offset` rows come before that of the first token; fairseq's models reserve them for padding. `table_transform` is
    that of `TokenEmbedding`.
    """

    def __init__(self, max_length: int, initializer_range: float = 0.02, offset: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_length = max_length
        self.initializer_range = initializer_range
        self.offset = offset
        self.table_transform: Callable[[Any], Any] | None = None
        self.output_tap = Tap("output_tap")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes the table (offset + max_length, hidden)."""
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.offset + self.max_length, input_shape[-1]),
            initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
        )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(batch, length, hidden) -> (batch, length, hidden)."""
        length = ops.shape(inputs)[1]
        self._check_length(length)
        table = ops.convert_to_tensor(_transform_table(self.embeddings, self.table_transform))
        return ops.add(inputs, self.output_tap(table[self.offset : self.offset + length], training))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """The shape of the input. JAX cannot infer it from `call`, which slices to an unknown length."""
        self._check_length(input_shape[1])
        return input_shape

    def _check_length(self, length: Tensor) -> None:
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(f"a sequence must have at most max_length={self.max_length} tokens, got {length}")


@keras.saving.register_keras_serializable("keras_bert")
class SegmentEmbedding(SavedLayer):
    """Adds a learned vector for the segment of each token: the first or the second text of a pair.

    A single row is added to all tokens, without segment ids.
    """

    def __init__(self, num_segments: int, initializer_range: float = 0.02, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.num_segments = num_segments
        self.initializer_range = initializer_range
        self.output_tap = Tap("output_tap")

    def build(self, inputs_shape: tuple[int | None, ...], segment_ids_shape: Any = None) -> None:
        """Makes the table (num_segments, hidden)."""
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.num_segments, inputs_shape[-1]),
            initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
            autocast=False,  # as for tokens: the gradient of a row is a sum over all tokens
        )

    def call(self, inputs: Tensor, segment_ids: Tensor = None, training: bool = False) -> Tensor:
        """(batch, length, hidden), segment ids (batch, length), None for a single row -> (batch, length, hidden)."""
        table = self.embeddings
        vectors = ops.cast(table if segment_ids is None else ops.take(table, segment_ids, axis=0), self.compute_dtype)
        return ops.add(inputs, self.output_tap(vectors, training))


@keras.saving.register_keras_serializable("keras_bert")
class EmbeddingProjection(SavedLayer):
    """Projects embeddings to the width of the encoder, x W + b (Lan et al. 2020, section 3.1)."""

    def __init__(self, hidden_size: int, initializer_range: float = 0.02, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.hidden_size = hidden_size
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes W (embedding, hidden)."""
        self.dense = Dense(self.hidden_size, self.initializer_range, name="dense", dtype=self.dtype_policy)
        self.dense.build(input_shape)

    def call(self, inputs: Tensor) -> Tensor:
        """(batch, length, embedding) -> (batch, length, hidden)."""
        return self.dense(inputs)


def _transform_table(table: Tensor, transform: Callable[[Any], Any] | None) -> Tensor:
    return table if transform is None else transform(table)
