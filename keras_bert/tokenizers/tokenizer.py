"""BERT's WordPiece as graph operations, which run eagerly, in tf.data and inside an exported model."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert.options.data import Lowercasing
from keras_bert.tokenizers.graph import GraphTokenizer, as_strings, gather_values
from keras_bert.tokenizers.normalizer_model import matcher_vocabulary, normalizer_model
from keras_bert.tokenizers.wordpiece_vocabulary import CONTINUATION, MAX_CHARACTERS, WordPieceVocabulary

_MAX_BYTES = 4 * MAX_CHARACTERS

# The matcher needs a token that it can match. Normalized text has no private use characters.
_FILLER = "\uf8ff"


class Tokenizer(WordPieceVocabulary, GraphTokenizer):
    """BERT's WordPiece tokenizer (Devlin et al. 2019); its ids equal Hugging Face's `BertWordPieceTokenizer`.

    Bytes that are not UTF-8 count as U+FFFD, which BERT drops.
    `docs/decisions/0008-the-tokenizer-equals-the-reference.md` says where offsets may differ.

    Attributes:
        vocabulary: the tokens; the index of a token is its id.
        lowercase: whether text is lowercased, and its accents are removed, first; `keep_accents` only lowercases.

    Examples:
        >>> tokenizer = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "film", "##s"], lowercase=True)
        >>> tokenizer.tokenize(["Films"]).to_list()
        [[5, 6]]
        >>> tokenizer.encode(["Films"], max_length=6)["token_ids"].numpy().tolist()
        [[2, 5, 6, 3, 0, 0]]
    """

    def __init__(self, vocabulary: Sequence[str], lowercase: Lowercasing) -> None:
        super().__init__(vocabulary, lowercase)
        self._wordpiece = build_wordpiece(self.vocabulary, lowercase, self.unknown_id)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self.vocabulary, self.lowercase)

    def tokenize(self, texts: Any) -> tf.RaggedTensor:
        """See `BaseTokenizer`; the operations are TensorFlow's, and may be part of any graph."""
        return self._wordpiece.tokenize(as_strings("texts", texts))

    def tokenize_with_offsets(self, texts: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        valid = tf.strings.unicode_transcode(as_strings("texts", texts), "UTF-8", "UTF-8", errors="replace")
        return self._wordpiece.tokenize_with_offsets(valid)

    def encode_with_offsets(
        self, texts: Any, pairs: Any = None, *, max_length: int, whole_words: bool = False
    ) -> dict[str, tf.Tensor]:
        """The results of `encode`, and the starts and ends of the tokens in the last text.

        For a batch of one text, all operations are available in exported files.

        With `whole_words` the first token of a word has the start and end of the word, also where the row truncates it,
        and its other tokens have none. `starts` and `ends` are (batch, max_length) int32, in characters (Unicode code
        points) of the text, or of the second text of a pair; -1 for all other tokens.
        """
        *before, last = self._texts_of_rows(texts, pairs, max_length)
        ids, starts, ends = self._wordpiece.tokenize_with_offsets(last)
        if whole_words:
            starts, ends = self._word_offsets(ids, starts, ends)
        parts = [*map(self.tokenize, before), ids]
        lengths = self._count_kept(parts, max_length)
        encoded = self._build_inputs(parts, lengths, tf.range(max_length)[tf.newaxis])
        # The end token of the row follows the tokens of the last text.
        end = tf.reduce_sum(encoded["padding_mask"], axis=1, keepdims=True) - 1
        columns = tf.range(max_length)[tf.newaxis] - (end - lengths[-1][:, tf.newaxis])
        inside = (columns >= 0) & (columns < lengths[-1][:, tf.newaxis])
        for name, part in (("starts", starts), ("ends", ends)):
            encoded[name] = tf.where(inside, gather_values(part, inside, columns), -1)
        return encoded

    def _word_offsets(self, ids: Any, starts: Any, ends: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
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


class TokenSpans(NamedTuple):
    """The tokens of a batch of texts; text t has the tokens splits[t]:splits[t + 1].

    Tokens start and end at bytes of the normalized text; an end is the index after the last byte.
    """

    ids: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    splits: tf.Tensor


class WordPiece:
    """Splits texts, (batch,) UTF-8 strings, into tokens of a vocabulary, lowercased and without accents if asked for.

    The kernels of tensorflow-text split them as Hugging Face's `tokenizers` does, token by token, with the tables of
    `normalizer_model`. Words of over 100 characters, which are unknown, are replaced here: the kernel counts bytes.
    `unknown_id` is the id of the token for a word that the other tokens do not make up.
    """

    def __init__(self, vocabulary: tuple[str, ...], lowercase: Lowercasing, unknown_id: int) -> None:
        self._unknown_id = unknown_id
        tokens = matcher_vocabulary(vocabulary, lowercase)
        continues = np.array([len(token) > 2 and token.startswith(CONTINUATION) for token in tokens])
        sizes = np.array([len(token) for token in tokens]) - 2 * continues
        sizes[unknown_id] = 0
        # Outside of a graph that is being built: its tensors would not outlive it.
        with tf.init_scope():
            model = np.frombuffer(normalizer_model(lowercase), np.uint8)
            self._normalizer = tf_text.FastBertNormalizer(model_buffer=tf.constant(model))
            self._matcher = tf_text.FastWordpieceTokenizer(
                [*tokens, _FILLER],
                max_bytes_per_word=_MAX_BYTES,
                token_out_type=tf.int32,
                unknown_token=tokens[unknown_id],
            )
            self._starts_word = tf.constant(~continues, tf.int32)
            self._sizes = tf.constant(sizes, tf.int32)

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """The ids of the tokens of each text, (batch, tokens) int32."""
        tokens = self._match(self._normalizer.normalize(texts))
        return tf.RaggedTensor.from_row_splits(tokens.ids, tokens.splits, validate=False)

    def tokenize_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Ids, and the characters of the text where each token starts and ends, all (batch, tokens) int32.

        For a batch with the static size 1, all operations are available in TFLite, with those of tensorflow-text.
        """
        normalized, sources = self._normalizer.normalize_with_offsets(texts)
        tokens = self._match(normalized)
        rows = tf.RaggedTensor.from_row_splits(tokens.ids, tokens.splits, validate=False)
        characters, first_bytes = _count_characters(texts)
        row = tf.zeros_like(tokens.starts) if texts.shape == (1,) else rows.value_rowids()
        first_source, first_byte = tf.gather(sources.row_starts(), row), tf.gather(first_bytes, row)

        def character_of(place: tf.Tensor) -> tf.Tensor:
            """The character, counted in the whole batch, from which a byte of normalized text comes."""
            return tf.gather(characters, first_byte + tf.gather(sources.flat_values, first_source + place))

        before = tf.gather(characters, first_byte) - 1
        starts, ends = character_of(tokens.starts) - 1 - before, character_of(tokens.ends - 1) - before
        return rows, rows.with_flat_values(starts), rows.with_flat_values(ends)

    def _match(self, normalized: tf.Tensor) -> TokenSpans:
        ids, starts, ends = self._matcher.tokenize_with_offsets(normalized)
        tokens = TokenSpans(ids.flat_values, starts.flat_values, ends.flat_values, ids.row_splits)
        starts_word = tf.gather(self._starts_word, tokens.ids)
        words = tf.cumsum(starts_word) - 1
        too_long = tf.math.segment_sum(tf.gather(self._sizes, tokens.ids), words) > MAX_CHARACTERS
        return tf.cond(
            tf.reduce_any(too_long),
            lambda: self._join(tokens, starts_word > 0, tf.gather(too_long, words)),
            lambda: tokens,
        )

    def _join(self, tokens: TokenSpans, starts_word: tf.Tensor, too_long: tf.Tensor) -> TokenSpans:
        """Replaces all tokens of each word that is too long by one unknown token; both tensors are (tokens,) bool."""
        keep = starts_word | ~too_long
        places = tf.where(keep)[:, 0]
        last_places = tf.concat([places[1:], tf.shape(keep, tf.int64)], axis=0) - 1
        kept_before = tf.concat([[0], tf.cumsum(tf.cast(keep, tf.int64))], axis=0)
        return TokenSpans(
            ids=tf.gather(tf.where(too_long, self._unknown_id, tokens.ids), places),
            starts=tf.gather(tokens.starts, places),
            ends=tf.gather(tokens.ends, last_places),
            splits=tf.gather(kept_before, tokens.splits),
        )


def _count_characters(texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The number of characters of the batch up to each byte, that byte included, and each text's first byte."""
    if texts.shape == (1,):
        # TFLite has no other operation for this; for many texts it takes six times as long.
        characters = tf_text.ByteSplitter().split(texts)
        values, first_bytes = characters.flat_values, characters.row_starts()
    else:
        values = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
        first_bytes = tf.cumsum(tf.cast(tf.strings.length(texts), tf.int64), exclusive=True)
    numbers = tf.cast(values, tf.int32)
    # All bytes of a character but the first are 128 to 191.
    starts_character = (numbers < 128) | (numbers >= 192)
    return tf.cumsum(tf.cast(starts_character, tf.int32)), first_bytes


# Building the matcher takes time for a large vocabulary, and a process uses the same one many times.
@functools.lru_cache(maxsize=4)
def build_wordpiece(vocabulary: tuple[str, ...], lowercase: Lowercasing, unknown_id: int) -> WordPiece:
    """Returns a `WordPiece`, the same object for the same arguments."""
    return WordPiece(vocabulary, lowercase, unknown_id)
