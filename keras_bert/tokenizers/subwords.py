"""Byte-level BPE and unigram in TensorFlow, with the ids and offsets of Hugging Face's `tokenizers`."""

from typing import Any

import tensorflow as tf

from keras_bert.tokenizers.graph import GraphTokenizer, as_strings
from keras_bert.tokenizers.rows import tokenize_rows, tokenize_rows_with_offsets
from keras_bert.tokenizers.subword_vocabulary import SubwordVocabulary


class SubwordTokenizer(SubwordVocabulary, GraphTokenizer):
    """A tokenizer that a `tokenizer.json` of Hugging Face describes, as those of RoBERTa and ALBERT."""

    def __reduce__(self) -> tuple[Any, ...]:
        return SubwordTokenizer, (self._content,)

    def tokenize(self, texts: Any) -> tf.RaggedTensor:
        ids, lengths = tf.numpy_function(self._find, [as_strings("texts", texts)], [tf.int32, tf.int64])
        return _ragged(ids, lengths)

    def tokenize_with_offsets(self, texts: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """See `BaseTokenizer`; white space in front of a token is not part of it."""
        kinds = [tf.int32, tf.int64, tf.int32, tf.int32]
        ids, lengths, starts, ends = tf.numpy_function(self._find_places, [as_strings("texts", texts)], kinds)
        return _ragged(ids, lengths), _ragged(starts, lengths), _ragged(ends, lengths)

    def _find(self, texts: Any) -> tuple[Any, Any]:
        rows = tokenize_rows(self.matcher, texts)
        return rows.flat_values, rows.row_lengths()

    def _find_places(self, texts: Any) -> tuple[Any, ...]:
        ids, starts, ends = tokenize_rows_with_offsets(self.matcher, texts)
        return ids.flat_values, ids.row_lengths(), starts.flat_values, ends.flat_values


def _ragged(values: tf.Tensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    for tensor in (values, lengths):
        tensor.set_shape([None])
    return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)
