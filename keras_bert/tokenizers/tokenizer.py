"""BERT's WordPiece as graph operations, which run eagerly, in tf.data and inside an exported model."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_bert.tokenizers.graph import GraphTokenizer, as_strings, gather_values
from keras_bert.tokenizers.wordpiece import build_wordpiece
from keras_bert.tokenizers.wordpiece_vocabulary import WordPieceVocabulary


class Tokenizer(WordPieceVocabulary, GraphTokenizer):
    """BERT's WordPiece tokenizer (Devlin et al. 2019); its ids equal Hugging Face's `BertWordPieceTokenizer`.

    Bytes that are no UTF-8 count as U+FFFD, which BERT drops.
    `docs/decisions/0008-the-tokenizer-equals-the-reference.md` says where offsets may differ.

    Attributes:
        vocabulary: the tokens; the index of a token is its id.
        lowercase: whether text is lowercased, and its accents are removed, first.

    Examples:
        >>> tokenizer = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "film", "##s"], lowercase=True)
        >>> tokenizer.tokenize(["Films"]).to_list()
        [[5, 6]]
        >>> tokenizer.encode(["Films"], max_length=6)["token_ids"].numpy().tolist()
        [[2, 5, 6, 3, 0, 0]]
    """

    def __init__(self, vocabulary: Sequence[str], lowercase: bool) -> None:
        super().__init__(vocabulary, lowercase)
        self._wordpiece = build_wordpiece(self.vocabulary, lowercase, self.unknown_id)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self.vocabulary, self.lowercase)

    def tokenize(self, texts: Any) -> tf.RaggedTensor:
        """See `BaseTokenizer`; the operations are TensorFlow's, and may be part of any graph."""
        return self._wordpiece.tokenize(as_strings("texts", texts))

    def tokenize_with_offsets(self, texts: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """See `BaseTokenizer`."""
        valid = tf.strings.unicode_transcode(as_strings("texts", texts), "UTF-8", "UTF-8", errors="replace")
        return self._wordpiece.tokenize_with_offsets(valid)

    def encode_with_offsets(
        self, texts: Any, pairs: Any = None, *, max_length: int, whole_words: bool = False
    ) -> dict[str, tf.Tensor]:
        """The results of `encode`, and the starts and ends of the tokens in the last text.

        For a batch of one text, all operations are available in exported files.

        Args:
            texts: (batch,) texts, valid UTF-8.
            pairs: (batch,) texts, valid UTF-8, or None.
            max_length: see `encode`.
            whole_words: whether the first token of a word has the start and end of the word, and its other tokens have
                none. The end is that of the whole word, even if the row truncates it.

        Returns:
            The entries of `encode`, and `starts` and `ends` (batch, max_length) int32, in characters (Unicode code
            points) of the text, or of the second text of a pair; -1 for all other tokens.

        Raises:
            TypeError, ValueError: see `encode`.
        """
        *before, last = self._sides(texts, pairs, max_length)
        ids, starts, ends = self._wordpiece.tokenize_with_offsets(last)
        if whole_words:
            starts, ends = self._places_of_words(ids, starts, ends)
        parts = [*map(self.tokenize, before), ids]
        lengths = self._fit(parts, max_length)
        encoded = self._lay_out(parts, lengths, tf.range(max_length)[tf.newaxis])
        # The end token of the row follows the tokens of the last text.
        end = tf.reduce_sum(encoded["padding_mask"], axis=1, keepdims=True) - 1
        columns = tf.range(max_length)[tf.newaxis] - (end - lengths[-1][:, tf.newaxis])
        inside = (columns >= 0) & (columns < lengths[-1][:, tf.newaxis])
        for name, part in (("starts", starts), ("ends", ends)):
            encoded[name] = tf.where(inside, gather_values(part, inside, columns), -1)
        return encoded

    def _places_of_words(self, ids: Any, starts: Any, ends: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """The start and end of each word at its first token, -1 at its others, in operations that TFLite has, too."""
        continues = tf.gather(tf.constant(self.word_marks().astype("int32")), ids.flat_values)
        # Texts can be treated as one sequence: no text begins with a token that continues a word.
        last = tf.concat([continues[1:], [0]], axis=0)[: tf.size(continues)] == 0
        # One more value, so that indices are valid if there are no tokens.
        word_ends = tf.concat([tf.boolean_mask(ends.flat_values, last), [0]], axis=0)
        word_ends = tf.gather(word_ends, tf.maximum(tf.cumsum(1 - continues) - 1, 0))
        return (
            starts.with_flat_values(tf.where(continues == 0, starts.flat_values, -1)),
            ends.with_flat_values(tf.where(continues == 0, word_ends, -1)),
        )
