"""Token, position and segment embeddings (Devlin et al. 2019, section 3, figure 2), and what may follow them."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_bert.layers.dense import Dense
from keras_bert.layers.tap import Tap


class TokenEmbedding(keras.layers.Layer):
    """A table of token vectors that also reads backwards: hidden states -> scores of all tokens.

    The masked-token head of BERT shares its output matrix with the input embedding.

    Args:
        vocabulary_size: rows of the table.
        hidden_size: width of the vectors.
        initializer_range: standard deviation of the truncated normal initializer.
        rank: columns of the table, if a product with a second matrix, `factor` (rank, hidden_size), makes the vectors
            of what is looked up: fewer weights, and the vectors lie in a space of this many dimensions. None for none.

    Attributes:
        adapter: a layer beside it, called with ids and vectors, whose answer takes the vectors' place.
        table_transform: applied to the table at every call when set. It belongs to whoever set it and is not saved.
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
        # Looked up first and cast then: of a large table few rows are read, and their gradients add up in float32.
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocabulary_size, columns),
            initializer=keras.initializers.TruncatedNormal(stddev=spread),
            autocast=False,
        )
        if self.rank is not None:
            # So spread, the vectors are as large as those of a table without a rank.
            self.factor = Dense(
                self.hidden_size, 1 / math.sqrt(columns), use_bias=False, name="factor", dtype=self.dtype_policy
            )
            self.factor.build((None, columns))

    def matrix(self) -> Any:
        """The vectors of all pieces (vocabulary_size, hidden_size)."""
        table = ops.convert_to_tensor(self.embeddings)
        return table if self.factor is None else ops.matmul(table, ops.convert_to_tensor(self.factor.kernel))

    def call(self, inputs: Any, reverse: bool = False, training: bool = False) -> Any:
        """Ids (...) -> vectors (..., hidden); with `reverse`, vectors (..., hidden) -> scores (..., vocabulary).

        Backwards, of wider vectors the first columns count.
        """
        table = _transformed(self.embeddings, self.table_transform)
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

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "hidden_size": self.hidden_size,
            "initializer_range": self.initializer_range,
            "rank": self.rank,
        }


class PositionEmbedding(keras.layers.Layer):
    """Adds one learned vector for each position.

    Args:
        max_length: the most tokens; longer inputs raise when the length is known, or when they run.
        initializer_range: standard deviation of the truncated normal initializer.
        offset: rows of the table in front of that of the first token, which fairseq's models keep for padding.

    Attributes:
        table_transform: as that of `TokenEmbedding`.
    """

    def __init__(self, max_length: int, initializer_range: float = 0.02, offset: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_length = max_length
        self.initializer_range = initializer_range
        self.offset = offset
        self.table_transform: Callable[[Any], Any] | None = None

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes the table (offset + max_length, hidden)."""
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.offset + self.max_length, input_shape[-1]),
            initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
        )

    def call(self, inputs: Any) -> Any:
        """(batch, length, hidden) -> (batch, length, hidden).

        Raises:
            ValueError: the length is known and larger than `max_length`.
        """
        length = ops.shape(inputs)[1]
        self._check_length(length)
        table = ops.convert_to_tensor(_transformed(self.embeddings, self.table_transform))
        return ops.add(inputs, table[self.offset : self.offset + length])

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """The input's shape: JAX cannot find it out by calling, with no length to cut the table to.

        Raises:
            ValueError: the length is known and larger than `max_length`.
        """
        self._check_length(input_shape[1])
        return input_shape

    def _check_length(self, length: Any) -> None:
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(f"a sequence must have at most max_length={self.max_length} tokens, got {length}")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "max_length": self.max_length,
            "initializer_range": self.initializer_range,
            "offset": self.offset,
        }


class SegmentEmbedding(keras.layers.Layer):
    """Adds one learned vector for each segment of a pair.

    Args:
        num_segments: rows of the table; the one row of a table is added to all tokens, whatever their segment.
        initializer_range: standard deviation of the truncated normal initializer.
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
            autocast=False,  # as for the tokens: two rows take the gradients of all tokens
        )

    def call(self, inputs: Any, segment_ids: Any = None, training: bool = False) -> Any:
        """(batch, length, hidden), ids (batch, length) if there are several -> (batch, length, hidden)."""
        table = self.embeddings
        vectors = ops.cast(table if segment_ids is None else ops.take(table, segment_ids, axis=0), self.compute_dtype)
        return ops.add(inputs, self.output_tap(vectors, training))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "num_segments": self.num_segments,
            "initializer_range": self.initializer_range,
        }


class EmbeddingProjection(keras.layers.Layer):
    """x W + b: from the width of the embeddings to that of the encoder (Lan et al. 2020, section 3.1).

    Args:
        hidden_size: width of the encoder.
        initializer_range: standard deviation of the truncated normal initializer.
    """

    def __init__(self, hidden_size: int, initializer_range: float = 0.02, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.hidden_size = hidden_size
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes W (embedding, hidden)."""
        self.dense = Dense(self.hidden_size, self.initializer_range, name="dense", dtype=self.dtype_policy)
        self.dense.build(input_shape)

    def call(self, inputs: Any) -> Any:
        """(batch, length, embedding) -> (batch, length, hidden)."""
        return self.dense(inputs)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "hidden_size": self.hidden_size,
            "initializer_range": self.initializer_range,
        }


def _transformed(table: Any, transform: Callable[[Any], Any] | None) -> Any:
    return table if transform is None else transform(table)
