"""Tokenizers whose rows are computed in TensorFlow: eagerly, in tf.data and in exported graphs."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_bert.tokenizers.base import BaseTokenizer, count_kept_tokens
from keras_bert.tokenizers.rows import encode_texts


def as_strings(name: str, texts: Any, like: tf.Tensor | None = None) -> tf.Tensor:
    """A (batch,) string tensor of texts: a list of `str`, or of `bytes` that hold UTF-8, or such a tensor."""
    strings = texts if tf.is_tensor(texts) else tf.constant(encode_texts(name, texts), tf.string)
    if strings.dtype != tf.string:
        raise TypeError(f"{name} must be a tensor of strings, got one of {strings.dtype.name}")
    if strings.shape.rank not in (None, 1):
        raise ValueError(f"{name} must be a tensor of shape (batch,), got {tuple(strings.shape)}")
    if like is not None and not strings.shape.is_compatible_with(like.shape):
        raise ValueError(f"{name} must hold as many texts as texts does, {like.shape[0]}, got {strings.shape[0]}")
    return strings


class GraphTokenizer(BaseTokenizer):
    """A tokenizer of TensorFlow operations.

    Texts are a list of `str`, or of `bytes` that hold UTF-8, or a (batch,) string tensor, which may be part of a graph
    and may be empty; ids are tensors.
    """

    def encode(
        self, texts: Any, pairs: Any = None, *, max_length: int, pad_to_longest: bool = False
    ) -> dict[str, tf.Tensor]:
        parts = [self.tokenize(side) for side in self._texts_of_rows(texts, pairs, max_length)]
        lengths = self._count_kept(parts, max_length)
        width = max_length
        if pad_to_longest:
            longest = tf.reduce_max(tf.add_n(lengths) + self.special_count(len(parts)))
            width = tf.maximum(longest, 0)  # 0 for an empty batch
        return self._build_inputs(parts, lengths, tf.range(width)[tf.newaxis])

    def _texts_of_rows(self, texts: Any, pairs: Any, max_length: int) -> list[tf.Tensor]:
        """The texts of rows, or both texts of pairs, each (batch,); see `encode`."""
        self.check_room(1 if pairs is None else 2, max_length)
        texts = as_strings("texts", texts)
        sides = [texts] if pairs is None else [texts, as_strings("pairs", pairs, like=texts)]
        if tf.executing_eagerly():
            self.report_markers(text for side in sides for text in side.numpy())
        return sides

    def _count_kept(self, parts: Sequence[tf.RaggedTensor], max_length: int) -> list[tf.Tensor]:
        """The number of tokens of each part in a row, (batch,) int32."""
        room = max_length - self.special_count(len(parts))
        return count_kept_tokens([tf.cast(part.row_lengths(), tf.int32) for part in parts], room, tf)

    def _build_inputs(
        self, parts: list[tf.RaggedTensor], lengths: list[tf.Tensor], columns: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The model's inputs of the first `lengths` tokens of one or two parts, in operations that TFLite has, too.

        Parts are (batch, tokens) int32, lengths (batch,) and the numbers of the columns (1, width).
        """
        end = tf.zeros_like(lengths[0])[:, tf.newaxis]
        token_ids = tf.where(columns == end, self.cls_id, self.pad_id)
        segment_ids = tf.zeros_like(token_ids)
        for segment, (part, length) in enumerate(zip(parts, lengths, strict=True)):
            for _ in range(self.between - 1 if segment else 0):
                end += 1
                token_ids = tf.where(columns == end, self.sep_id, token_ids)
            start, end = end, end + length[:, tf.newaxis] + 1
            inside = (columns > start) & (columns <= end)
            ids = gather_values(part, inside & (columns < end), columns - start - 1)
            token_ids = tf.where(inside, tf.where(columns == end, self.sep_id, ids), token_ids)
            segment_ids = tf.where(inside, segment * self.second_segment, segment_ids)
        return {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "padding_mask": tf.cast(columns <= end, tf.int32),
        }


def gather_values(part: tf.RaggedTensor, mask: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Gathers values of ragged rows (batch, values) int32, with operations that TFLite has, too.

    Where the mask (batch, width) is true, the result (batch, width) has the value of the row at the index in `columns`;
    elsewhere it has any value.
    """
    indices = tf.cast(part.row_starts(), tf.int32)[:, tf.newaxis] + columns
    # One more value, so that indices of rows without values are valid.
    return tf.gather(tf.concat([part.flat_values, [0]], axis=0), tf.where(mask, indices, 0))
