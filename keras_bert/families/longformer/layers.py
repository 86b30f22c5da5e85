"""Longformer's attention, encoder block and graph (Beltagy et al. 2020, sections 3 and 3.1)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import keras
import numpy as np
from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.core.tensors import Tensor
from keras_bert.families.bert.graph import embed
from keras_bert.families.longformer.settings import Longformer
from keras_bert.layers.adapters import PromptAwareLayer
from keras_bert.layers.attention import MASK_BIAS, AttentionBias, ConfiguredAttention
from keras_bert.layers.blocks_of_tokens import (
    join_blocks,
    pad_to_blocks,
    split_blocks,
    transpose_blocks,
    with_neighbours,
)
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.separator import SeparatorReader

GlobalKind = Literal["none", "first", "question"]


@keras.saving.register_keras_serializable("keras_bert")
class GlobalTokens(SeparatorReader, PromptAwareLayer):
    """Marks Longformer's global tokens among the first tokens of a text (Beltagy et al. 2020, section 3.1).

    The number of these first tokens is fixed, so that shapes do not depend on the text. Global are, by `kind`, `none`;
    for classification `first`, the first token; for question answering `question`, all tokens, but at most `most`,
    before the first separator. The tokens of a soft prompt, see `PromptAwareLayer`, are global, too: otherwise only the
    tokens within their window would attend to them.
    """

    def __init__(self, kind: GlobalKind = "none", most: int = 1, separator: int | None = None, **kwargs: Any) -> None:
        super().__init__(separator, **kwargs)
        check("GlobalTokens", "most", most >= 1, "be at least 1", most)
        has_separator = kind != "question" or separator is not None
        check("GlobalTokens", "separator", has_separator, "be set where the question's tokens are global", separator)
        self.kind, self.most = kind, most

    @property
    def candidates(self) -> int:
        """The number of first tokens that may be global, without the tokens of a prompt."""
        return {"none": 0, "first": 1, "question": self.most}[self.kind]

    def call(self, token_ids: Tensor, padding_mask: Tensor) -> Tensor:
        """Both int32 (batch, length) -> 1 for a global token, int32 (batch, first tokens)."""
        end = self.tokens + self.candidates
        if end == 0:
            # A slice would do, but TensorFlow could not infer that it is empty.
            return ops.zeros((ops.shape(padding_mask)[0], 0), "int32")
        mask = padding_mask[:, :end]
        if self.kind != "question":
            return mask
        in_question = self.before_separator(token_ids[:, self.tokens : end])
        return ops.multiply(mask, ops.pad(in_question, ((0, 0), (self.tokens, 0)), constant_values=1))

    def compute_output_spec(self, token_ids: Tensor, padding_mask: Tensor) -> keras.KerasTensor:
        """(batch, None): the number of first tokens is known only at run time, as a prompt may be added."""
        return keras.KerasTensor((token_ids.shape[0], None), "int32")


@keras.saving.register_keras_serializable("keras_bert")
class LongformerAttention(ConfiguredAttention):
    """Longformer's attention: tokens attend to a window around them and to global tokens, global tokens to all tokens.

    Global tokens have separate projections. Time and memory are linear in the length: queries are split into blocks of
    half a window, and each block attends to its keys and its neighbours' keys ("sliding chunks", section 3.1 and
    appendix A).
    """

    scores_all_pairs: ClassVar[bool] = False

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        assert isinstance(self.config.variant, Longformer)
        self.index, self.reach = index, self.config.variant.reach(index)

    def build(  # type: ignore[override]
        self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any, global_tokens_shape: Any
    ) -> None:
        """Makes the projections, each (hidden, hidden), also of the queries, keys and values of global tokens."""
        super().build(inputs_shape, attention_bias_shape)
        for name in ("global_query", "global_key", "global_value"):
            self._add_projection(name)

    def call(  # type: ignore[override]
        self, inputs: Tensor, attention_bias: Tensor, global_tokens: Tensor, training: bool = False
    ) -> Tensor:
        """Attends to windows and to global tokens: (batch, length, hidden), with a bias (batch, 1, 1, length).

        `global_tokens` is 1 for a global token, int32 (batch, first tokens); see `GlobalTokens`.
        """
        shape = ops.shape(inputs)
        scaled = ops.multiply(self.query(inputs), 1 / math.sqrt(self.head_size))
        query = self._split_heads(self.query_tap(scaled, training), shape)
        key = self._split_heads(self.key(inputs), shape)
        value = self._split_heads(self.value(inputs), shape)
        # (batch, 1, first tokens, 1); empty if no token may be global.
        is_global = ops.cast(global_tokens[:, None, :, None], self.compute_dtype)
        context = self._attend_locally(query, key, value, attention_bias, is_global, training)
        if is_global.shape[2] != 0:
            context = self._attend_from_global(inputs, context, attention_bias, is_global, training)
        return self._join_heads(context, shape, training)

    def _attend_locally(
        self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, is_global: Any, training: bool
    ) -> Tensor:
        """Attends to the window of each token and to the global tokens: (batch, heads, length, head_size)."""
        length, first = ops.shape(query)[2], ops.shape(is_global)[2]
        queries = split_blocks(pad_to_blocks(query, self.reach), self.reach)
        keys, values = self._neighbourhoods(key), self._neighbourhoods(value)
        scores = ops.add(ops.matmul(queries, transpose_blocks(keys)), self._local_bias(bias, is_global))
        if is_global.shape[2] == 0:
            return join_blocks(ops.matmul(self._attention_probabilities(scores, training), values))[:, :, :length]
        to_global = ops.matmul(pad_to_blocks(query, self.reach), ops.transpose(key[:, :, :first], (0, 1, 3, 2)))
        global_bias = ops.transpose(ops.multiply(ops.subtract(1.0, is_global), MASK_BIAS), (0, 1, 3, 2))
        to_global = split_blocks(ops.add(to_global, global_bias), self.reach)
        probabilities = self._attention_probabilities(ops.concatenate([to_global, scores], axis=-1), training)
        local_context = join_blocks(ops.matmul(probabilities[..., first:], values))
        global_context = ops.matmul(join_blocks(probabilities[..., :first]), value[:, :, :first])
        return ops.add(local_context, global_context)[:, :, :length]

    def _neighbourhoods(self, x: Tensor, padding: float = 0.0) -> Tensor:
        """(batch, heads, length, width) -> (batch, heads, blocks, 3 x reach, width), with padding beyond both ends."""
        margin = ((0, 0), (0, 0), (self.reach, self.reach), (0, 0))
        padded = ops.pad(pad_to_blocks(x, self.reach, padding), margin, constant_values=padding)
        return with_neighbours(split_blocks(padded, self.reach))

    def _local_bias(self, bias: Tensor, is_global: Any) -> Tensor:
        """The bias that masks padding, keys outside the window, and global keys, which have separate scores.

        (batch, 1, 1, length), (batch, 1, first tokens, 1) -> (batch, 1, blocks, reach, 3 x reach).
        """
        columns = ops.transpose(ops.cast(bias, self.compute_dtype), (0, 1, 3, 2))
        if is_global.shape[2] != 0:
            first = ops.shape(is_global)[2]
            first_columns = ops.minimum(columns[:, :, :first], ops.multiply(is_global, MASK_BIAS))
            columns = ops.concatenate([first_columns, columns[:, :, first:]], axis=2)
        distances = np.arange(3 * self.reach)[None, :] - np.arange(self.reach)[:, None] - self.reach
        window_bias = ops.cast(np.where(np.abs(distances) > self.reach, MASK_BIAS, 0.0), self.compute_dtype)
        # Minimum rather than sum: a larger range would coarsen the int8 grid of the scores.
        return ops.minimum(transpose_blocks(self._neighbourhoods(columns, MASK_BIAS)), window_bias)

    def _attend_from_global(
        self, inputs: Tensor, context: Tensor, bias: Tensor, is_global: Any, training: bool
    ) -> Tensor:
        """Replaces the contexts of global tokens, which attend to all tokens."""
        first, shape = ops.shape(is_global)[2], ops.shape(inputs)
        scaled = ops.multiply(self.global_query(inputs[:, :first]), 1 / math.sqrt(self.head_size))
        query = self._split_heads(self.query_tap(scaled, training), (shape[0], first))
        key = self._split_heads(self.global_key(inputs), shape)
        value = self._split_heads(self.global_value(inputs), shape)
        global_context = self._attend(query, key, value, bias, training)
        first_context = ops.where(ops.greater(is_global, 0), global_context, context[:, :, :first])
        return ops.concatenate([first_context, context[:, :, first:]], axis=2)

    def full_probabilities(self, recorded: Sequence[Any], length: int, global_tokens: Any = None) -> Any:
        """See `SelfAttention.full_probabilities`: windows and global tokens at their places, 0 elsewhere."""
        local, first = recorded[0], recorded[0].shape[-1] - 3 * self.reach
        batch, heads, blocks = local.shape[:3]
        # The keys of a block begin `reach` in front of it.
        keys = np.zeros((batch, heads, blocks * self.reach, (blocks + 2) * self.reach), "float32")
        for block in range(blocks):
            start = block * self.reach
            keys[:, :, start : start + self.reach, start : start + 3 * self.reach] = local[:, :, block, :, first:]
        full = keys[:, :, :length, self.reach : self.reach + length]
        if first:
            full[..., :first] += local[..., :first].reshape(batch, heads, -1, first)[:, :, :length]
            full[:, :, :first] = np.where(global_tokens[:, None, :, None] > 0, recorded[1], full[:, :, :first])
        return full


@keras.saving.register_keras_serializable("keras_bert")
class LongformerBlock(EncoderBlock):
    """Longformer's encoder block: BERT's block with `LongformerAttention`."""

    def __init__(self, config: EncoderConfig | Mapping[str, Any], index: int, **kwargs: Any) -> None:
        attention = LongformerAttention(config, index, name="attention", dtype=kwargs.get("dtype"))
        super().__init__(config, attention, **kwargs)
        self.index = index

    def build(self, inputs_shape: tuple[int | None, ...], attention_bias_shape: Any, global_tokens_shape: Any) -> None:  # type: ignore[override]
        self.attention.build(inputs_shape, attention_bias_shape, global_tokens_shape)
        self._build_after_attention(inputs_shape)

    def call(self, inputs: Tensor, attention_bias: Tensor, global_tokens: Tensor, training: bool = False) -> Tensor:  # type: ignore[override]
        """States (batch, length, hidden), bias (batch, 1, 1, length), output of `GlobalTokens` -> the next states."""
        attended = self.attention(inputs, attention_bias, global_tokens, training=training)
        return self._add_and_feed_forward(inputs, attended, training)


# The name of the layer that marks global tokens; heads replace it, see `keras_bert.models.global_tokens`.
GLOBAL_TOKENS = "global_tokens"


def longformer_states(config: EncoderConfig, inputs: Mapping[str, Any]) -> Any:
    """Inputs by name, each int32 (batch, length) -> states (batch, length, hidden)."""
    x = embed(config, inputs)
    attention_bias = AttentionBias(name="attention_bias")(inputs["padding_mask"])
    global_tokens = GlobalTokens(name=GLOBAL_TOKENS)(inputs["token_ids"], inputs["padding_mask"])
    for index in range(config.num_layers):
        x = LongformerBlock(config, index, name=f"block_{index}")(x, attention_bias, global_tokens)
    return x
