"""DeBERTa's attention, encoder block and graph (He et al. 2021, section 3.1)."""

import math
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.bert.graph import embed
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.layers.attention import AttentionBias, ConfiguredAttention
from keras_bert.layers.block import ConfiguredLayer
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.feed_forward import ACTIVATIONS
from keras_bert.layers.tap import Tap


@keras.saving.register_keras_serializable("keras_bert")
class RelativeEmbedding(ConfiguredLayer):
    """DeBERTa's embeddings of relative positions, for all distances between two tokens of an input.

    All blocks share the table (He et al. 2021, section 3.1); with `normalized_positions` LayerNorm is applied to it.
    """

    def __init__(self, config: Any, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        assert isinstance(self.config.variant, DeBERTa)
        self.variant: DeBERTa = self.config.variant
        self.rows = _rows(self.config, self.variant)
        self.norm = None
        if self.variant.normalized_positions:
            epsilon = self.config.layer_norm_epsilon
            self.norm = keras.layers.LayerNormalization(epsilon=epsilon, name="norm", dtype=self.dtype_policy)
        self.output_tap = Tap("output_tap")

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Makes the table (2 x span, hidden): the first half is for keys after the query, the second for the others."""
        shape = (2 * self.variant.span, self.config.hidden_size)
        initializer = keras.initializers.TruncatedNormal(stddev=self.config.initializer_range)
        # No autocast: the gradient of a row is a sum over thousands of pairs of tokens, which needs float32.
        self.embeddings = self.add_weight(name="embeddings", shape=shape, initializer=initializer, autocast=False)
        if self.norm is not None:
            self.norm.build(shape)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """States (batch, length, hidden), which only give the length -> (2, 2 x length, hidden).

        [0] has the embeddings of the distances length, length - 1, ..., 1 - length; [1] those of the negated
        distances. A distance is the position of the query minus the position of the key.
        """
        length, most = ops.shape(inputs)[1], self.config.max_length
        self._check_length(length)
        rows = ops.convert_to_tensor(self.rows)[:, most - length : most + length]
        table = ops.cast(self.embeddings, self.compute_dtype)
        table = table if self.norm is None else self.norm(table)
        return self.output_tap(ops.take(table, rows, axis=0), training)

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """(2, 2 x length, hidden). JAX cannot infer it from `call`, which slices to an unknown length."""
        length = inputs_shape[1]
        self._check_length(length)
        return 2, None if length is None else 2 * length, self.config.hidden_size

    def _check_length(self, length: Tensor) -> None:
        most = self.config.max_length
        if isinstance(length, int) and length > most:
            raise ValueError(f"a sequence must have at most max_length={most} tokens, got {length}")


def _rows(config: EncoderConfig, variant: DeBERTa) -> np.ndarray[Any, Any]:
    """The rows of the distances max_length, ..., 1 - max_length, and of their negatives, int32 (2, 2 x max_length).

    They are constants of the graph: another runtime may round a logarithm differently, which would move a distance at
    the edge of a bucket into the next bucket.
    """
    places = relative_positions(np.arange(config.max_length, -config.max_length, -1), variant)
    rows = np.stack([places, -places]) + variant.span
    return np.clip(rows, 0, 2 * variant.span - 1).astype("int32")


def relative_positions(distances: np.ndarray[Any, Any], variant: DeBERTa) -> np.ndarray[Any, Any]:
    """Maps distances (n,) to relative positions (n,), which may exceed the span.

    Half of the buckets contain one distance each. Larger distances d are in bucket `near + ceil(log(d / near) /
    log((max_distance - 1) / near) x (near - 1))` (`make_log_bucket_position` of DeBERTa's released code, version 2).
    """
    if not variant.position_buckets:
        return distances
    near = variant.position_buckets // 2
    far = np.maximum(np.abs(distances), near)
    share = np.log(far / near) / math.log((variant.max_distance - 1) / near)
    buckets = near + np.ceil(share * (near - 1)).astype(int)
    return np.where(far > near, np.sign(distances) * buckets, distances)


def by_distance_to_pairs(scores: Tensor) -> Tensor:
    """Scores by token and distance (..., length, 2 x length) -> scores by pair of tokens (..., length, length).

    The score of the tokens i and j is the entry [i, length - (i - j)] of the input and [i, j] of the output: each row
    is shifted by one relative to the row above it. Reshaping to rows that are shorter by one does this without a gather
    (the relative shift of Dai et al. 2019, appendix B).
    """
    *outer, length, width = ops.shape(scores)
    flat = ops.reshape(scores, (*outer, length * width))[..., length:]
    return ops.reshape(flat, (*outer, length, width - 1))[..., :length]


def sum_scores(bias: Tensor, content: Tensor, by_query: Tensor, by_key: Tensor) -> Tensor:
    """The sum of a bias (batch, 1, 1, length) and the attention scores, (batch, heads, length, length).

    `content` are scores of pairs. Those of queries and distances and those of keys and distances are (batch, heads,
    length, 2 x length); None for none.
    """
    scores = ops.add(bias, content)
    if by_query is not None:
        scores = ops.add(scores, by_distance_to_pairs(by_query))
    if by_key is not None:
        scores = ops.add(scores, ops.transpose(by_distance_to_pairs(by_key), (0, 1, 3, 2)))
    return scores


@keras.saving.register_keras_serializable("keras_bert")
class DeBERTaAttention(ConfiguredAttention):
    """DeBERTa's disentangled attention to the contents and the relative positions of tokens.

    It is softmax((Q K^T + Q Kr^T + (K Qr^T)^T) / sqrt(3 head_size) + bias) V, where Kr and Qr are the keys and queries
    of the relative positions between pairs of tokens (He et al. 2021, equation 4).
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        assert isinstance(self.config.variant, DeBERTa)
        self.variant = self.config.variant
        if self.variant.position_to_content:
            self.position_query_tap = Tap("position_query_tap")
        self.relative_dropout = Dropout(self.config.dropout, dtype=self.dtype_policy, name="relative_dropout")

    def build(  # type: ignore[override]
        self, inputs_shape: Any, attention_bias_shape: Any, relative_shape: Any
    ) -> None:
        self.head_size = self.config.head_size
        for name in ("query", "key", "value", "output_projection"):
            self._add_projection(name, self.variant.key_bias or name != "key")
        if self.variant.shared_projections:
            return
        if self.variant.content_to_position:
            self._add_projection("position_key", self.variant.key_bias)
        if self.variant.position_to_content:
            self._add_projection("position_query")

    def call(  # type: ignore[override]
        self,
        inputs: Tensor,
        attention_bias: Tensor,
        relative: Tensor,
        query_states: Tensor = None,
        first_only: bool = False,
        training: bool = False,
    ) -> Tensor:
        """Attends to all tokens by content and relative position: (batch, length, hidden).

        The bias is (batch, 1, 1, length). `relative` is the output of `RelativeEmbedding` (2, 2 x length, hidden). Q is
        computed from `query_states`, other states of the same tokens, if these are set. With `first_only` these and the
        result are the first token's (batch, 1, hidden).
        """
        shape = ops.shape(inputs)
        query_states = inputs if query_states is None else query_states
        query_shape = ops.shape(query_states)
        scale = 1 / math.sqrt(self.head_size * self.variant.terms)
        scaled = ops.multiply(self.query(query_states), scale)
        query = self._split_heads(self.query_tap(scaled, training), query_shape)
        key = self._split_heads(self.key(inputs), shape)
        value = self._split_heads(self.value(inputs), shape)
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        by_query = by_key = None
        relative = self.relative_dropout(relative, training=training)
        # The first token's distances to the keys are 0, -1, ..., 1 - length: the last rows of [0], one for each key.
        from_query = relative[0, shape[1] :] if first_only else relative[0]
        from_keys = from_query if first_only else relative[1]
        shared = self.variant.shared_projections
        if self.variant.content_to_position:
            positions = self._columns((self.key if shared else self.position_key)(from_query))
            by_query = ops.matmul(query, positions)
        if self.variant.position_to_content:
            positions = (self.query if shared else self.position_query)(from_keys)
            positions = self._columns(self.position_query_tap(ops.multiply(positions, scale), training))
            if first_only:
                # Each key is multiplied only by the query of its distance, not by the queries of all distances.
                products = ops.multiply(ops.transpose(key, (0, 1, 3, 2)), positions)
                by_key = ops.sum(products, axis=2, keepdims=True)
            else:
                by_key = ops.matmul(key, positions)
        if first_only:
            given = [one for one in (scores, by_query, by_key) if one is not None]
            probabilities = self._attention_probabilities(sum(given, attention_bias), training)
        else:
            probabilities = self._relative_probabilities(attention_bias, scores, by_query, by_key, training)
        return self._join_heads(ops.matmul(probabilities, value), query_shape, training)

    def _relative_probabilities(
        self, bias: Tensor, content: Tensor, by_query: Tensor, by_key: Tensor, training: bool
    ) -> Tensor:
        """The attention probabilities of the scores of `sum_scores`."""
        return self._attention_probabilities(sum_scores(bias, content, by_query, by_key), training)

    def _columns(self, x: Tensor) -> Tensor:
        """(distances, hidden) -> (1, heads, head_size, distances)."""
        return ops.transpose(ops.reshape(x, (1, -1, self.num_heads, self.head_size)), (0, 2, 3, 1))


@keras.saving.register_keras_serializable("keras_bert")
class DeBERTaBlock(EncoderBlock):
    """DeBERTa's encoder block: BERT's block with `DeBERTaAttention`."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, DeBERTaAttention(config, name="attention", dtype=kwargs.get("dtype")), **kwargs)

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any, relative_shape: Any) -> None:  # type: ignore[override]
        self.attention.build(inputs_shape, attention_bias_shape, relative_shape)
        self._build_after_attention(inputs_shape)

    def call(  # type: ignore[override]
        self,
        inputs: Tensor,
        attention_bias: Tensor,
        relative: Tensor,
        query_states: Tensor = None,
        first_only: bool = False,
        training: bool = False,
    ) -> Tensor:
        """Computes the next states; for the arguments see `DeBERTaAttention` and `EncoderBlock.call`.

        The residual connection adds `query_states` if they are given.
        """
        query_states = inputs if query_states is None else query_states
        query_states = query_states[:, :1] if first_only else query_states
        attended = self.attention(
            inputs, attention_bias, relative, query_states, first_only=first_only, training=training
        )
        return self._add_and_feed_forward(query_states, attended, training)


@keras.saving.register_keras_serializable("keras_bert")
class ConvolutionSum(ConfiguredLayer):
    """Adds a convolution of the embeddings to the first block's states: LayerNorm(states + activation(convolution)).

    It is `ConvLayer` of DeBERTa's released code. The convolution is computed as a matrix product of windows of tokens,
    so that it is quantized as any other dense layer.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        settings, policy = self.config, self.dtype_policy
        assert isinstance(settings.variant, DeBERTa)
        self.window = settings.variant.convolution
        self.activation = {"tanh": ops.tanh, **ACTIVATIONS}[settings.variant.convolution_activation]
        self.dense = Dense(settings.hidden_size, settings.initializer_range, name="dense", dtype=policy)
        self.dropout = Dropout(settings.dropout, name="dropout", dtype=policy)
        self.norm = keras.layers.LayerNormalization(epsilon=settings.layer_norm_epsilon, name="norm", dtype=policy)
        for tap in ("input_tap", "sum_tap", "norm_tap"):
            setattr(self, tap, Tap(tap))

    def build(self, inputs_shape: tuple[int | None, ...], states_shape: Any, padding_mask_shape: Any) -> None:
        """Makes W (window x hidden, hidden), b and the norm."""
        self.dense.build((None, None, self.window * self.config.hidden_size))
        self.norm.build(inputs_shape)

    def call(self, inputs: Tensor, states: Tensor, padding_mask: Tensor, training: bool = False) -> Tensor:
        """Adds the convolution of the embeddings to the states of the first block, both (batch, length, hidden)."""
        # Padding is set to zero, so that its neighbours do not depend on it.
        embeddings = ops.multiply(inputs, ops.cast(padding_mask, self.compute_dtype)[:, :, None])
        reach, length = self.window // 2, ops.shape(inputs)[1]
        padded = ops.pad(self.input_tap(embeddings, training), ((0, 0), (reach, reach), (0, 0)))
        windows = ops.concatenate([padded[:, start : start + length] for start in range(self.window)], axis=-1)
        convolved = self.activation(self.dropout(self.dense(windows), training=training))
        return self.norm_tap(self.norm(self.sum_tap(ops.add(states, convolved), training)), training)

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], *further: Any) -> Any:
        """The shape of the states."""
        return inputs_shape


def deberta_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    variant = config.variant
    assert isinstance(variant, DeBERTa)
    # The final states must be the output of a block, not of the convolution after the first block.
    ends_with_block = not variant.convolution or config.num_layers > 1
    check("EncoderConfig", "num_layers", ends_with_block, "be at least 2 with a convolution", config.num_layers)
    embedded = x = embed(config, inputs, positions=variant.absolute_positions)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    relative = RelativeEmbedding(config, name="relative_embedding")(x)
    block = None
    for index in range(config.num_layers):
        if block is None or not config.shared_layers:
            block = DeBERTaBlock(config, name=f"block_{index}")
        x = block(x, attention_bias, relative)
        if variant.convolution and not index:
            x = ConvolutionSum(config, name="convolution")(embedded, x, inputs["padding_mask"])
    return x
