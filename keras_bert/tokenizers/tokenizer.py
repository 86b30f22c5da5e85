"""BERT's word pieces as graph operations, so that they run eagerly, in tf.data and inside an exported model."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_bert.tokenizers.base import BaseTokenizer, pick
from keras_bert.tokenizers.texts import as_strings
from keras_bert.tokenizers.wordpiece import CONTINUATION, build_wordpiece

PAD, UNKNOWN, CLS, SEP, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# `kMaxVocabTokenLengthInUTF8Bytes` of tensorflow-text.
_MAX_PIECE_BYTES = 256


class Tokenizer(BaseTokenizer):
    """BERT's WordPiece tokenizer (Devlin et al. 2019); its ids equal Hugging Face's `BertWordPieceTokenizer`.

    Bytes that are no UTF-8 count as U+FFFD, which BERT drops.
    `docs/decisions/0008-the-tokenizer-equals-the-reference.md` says where offsets may differ.

    Attributes:
        vocabulary: the pieces; a piece's position is its id.
        lowercase: whether text is lowercased and stripped of its accents first.
    """

    kind = "wordpiece"

    def __init__(self, vocabulary: Sequence[str], lowercase: bool) -> None:
        _check(vocabulary)
        super().__init__(vocabulary, SPECIAL_TOKENS)
        self.lowercase: bool = lowercase
        self._wordpiece = build_wordpiece(self.vocabulary, lowercase, self.unknown_id)

    def definition(self) -> dict[str, Any]:
        """See `BaseTokenizer`."""
        return {"lowercase": self.lowercase}

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self.vocabulary, self.lowercase)

    def continues(self, piece: str) -> bool:
        """See `BaseTokenizer`."""
        return piece.startswith(CONTINUATION)

    def count_bytes(self, piece: str) -> int:
        """See `BaseTokenizer`; bytes of the text as it is after lowercasing."""
        return len(piece.removeprefix(CONTINUATION).encode()) + (not self.continues(piece))

    def tokenize(self, texts: Any) -> tf.RaggedTensor:
        """See `BaseTokenizer`; the operations are TensorFlow's, so that they may stand in any graph."""
        return self._wordpiece.tokenize(as_strings("texts", texts))

    def tokenize_with_offsets(self, texts: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """See `BaseTokenizer`."""
        valid = tf.strings.unicode_transcode(as_strings("texts", texts), "UTF-8", "UTF-8", errors="replace")
        return self._wordpiece.tokenize_with_offsets(valid)

    def encode_with_offsets(self, texts: Any, pairs: Any = None, *, max_length: int) -> dict[str, tf.Tensor]:
        """What `encode` gives, and where the pieces of the last text stand in it.

        Of a batch of one the operations are some that an exported file may have.

        Args:
            texts: (batch,) texts, valid UTF-8.
            pairs: (batch,) texts, valid UTF-8, or None.
            max_length: see `encode`.

        Returns:
            `starts` and `ends` besides, (batch, max_length) int32: characters (Unicode code points) of the text, or of
            the second one of a pair; -1 at all tokens that are no pieces of it.

        Raises:
            TypeError, ValueError: see `encode`.
        """
        *before, last = self._sides(texts, pairs, max_length)
        ids, starts, ends = self._wordpiece.tokenize_with_offsets(last)
        parts = [*map(self.tokenize, before), ids]
        lengths = self._fit(parts, max_length)
        encoded = self._lay_out(parts, lengths, tf.range(max_length)[tf.newaxis])
        # Behind the last text's pieces there is the token that ends the row.
        end = tf.reduce_sum(encoded["padding_mask"], axis=1, keepdims=True) - 1
        columns = tf.range(max_length)[tf.newaxis] - (end - lengths[-1][:, tf.newaxis])
        inside = (columns >= 0) & (columns < lengths[-1][:, tf.newaxis])
        for name, part in (("starts", starts), ("ends", ends)):
            encoded[name] = tf.where(inside, pick(part, inside, columns), -1)
        return encoded


def _check(vocabulary: Sequence[str]) -> None:
    """Raises ValueError if a vocabulary is empty, or holds a piece twice, an empty or a very long one."""
    if not vocabulary:
        raise ValueError("Tokenizer.vocabulary must hold at least the special tokens, got no pieces")
    seen: set[str] = set()
    for position, piece in enumerate(vocabulary):
        if not piece or piece in seen:
            rule = "hold each piece once" if piece else "hold no empty piece"
            raise ValueError(f"Tokenizer.vocabulary must {rule}, got {piece!r} as piece {position}")
        if len(piece.encode()) > _MAX_PIECE_BYTES:
            rule = f"hold pieces of at most {_MAX_PIECE_BYTES} bytes"
            raise ValueError(f"Tokenizer.vocabulary must {rule}, got {piece!r} as piece {position}")
        seen.add(piece)
