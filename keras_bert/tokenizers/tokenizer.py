"""Text to token ids as graph operations, so that it runs eagerly, in tf.data and inside an exported model."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_bert.folders import TOKENIZER_FILE, VOCABULARY_FILE
from keras_bert.tokenizers.texts import as_strings
from keras_bert.tokenizers.wordpiece import build_wordpiece

PAD, UNKNOWN, CLS, SEP, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# `kMaxVocabTokenLengthInUTF8Bytes` of tensorflow-text.
_MAX_PIECE_BYTES = 256


class Tokenizer:
    """BERT's WordPiece tokenizer (Devlin et al. 2019); its ids equal Hugging Face's `BertWordPieceTokenizer`.

    Texts are a list of `str`, or of `bytes` that hold UTF-8, or a (batch,) string tensor, which may be part of a graph
    and may be empty. Bytes that are no UTF-8 count as U+FFFD, which BERT drops. All text is text: `[MASK]` in it is two
    brackets and a word. `docs/decisions/0008-the-tokenizer-equals-the-reference.md` says where offsets may differ.

    Attributes:
        vocabulary: the pieces; a piece's position is its id.
        lowercase: whether text is lowercased and stripped of its accents first.
    """

    def __init__(self, vocabulary: Sequence[str], lowercase: bool) -> None:
        self.vocabulary = tuple(vocabulary)
        self.lowercase = lowercase
        self._ids = _index(self.vocabulary)
        self._wordpiece = build_wordpiece(self.vocabulary, lowercase, self.unknown_id)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Tokenizer":
        """Reads what `save` wrote.

        Raises:
            FileNotFoundError: one of the two files is missing.
            ValueError: the vocabulary or the option cannot be used.
        """
        text = (Path(folder) / VOCABULARY_FILE).read_text(encoding="utf-8")
        file = Path(folder) / TOKENIZER_FILE
        options = json.loads(file.read_text())
        if not isinstance(options, dict) or not isinstance(options.get("lowercase"), bool):
            raise ValueError(f'{file} must say {{"lowercase": true}} or false, got {options!r}')
        return cls(text.removesuffix("\n").split("\n") if text else [], options["lowercase"])

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes `vocab.txt` (one piece a line) and `tokenizer.json` into an existing folder."""
        lines = "".join(f"{piece}\n" for piece in self.vocabulary)
        (Path(folder) / VOCABULARY_FILE).write_bytes(lines.encode())
        (Path(folder) / TOKENIZER_FILE).write_text(json.dumps({"lowercase": self.lowercase}) + "\n")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self.vocabulary, self.lowercase)

    @property
    def vocabulary_size(self) -> int:
        """The number of pieces, special tokens included."""
        return len(self.vocabulary)

    @property
    def pad_id(self) -> int:
        """The id of `[PAD]`."""
        return self._ids[PAD]

    @property
    def unknown_id(self) -> int:
        """The id of `[UNK]`."""
        return self._ids[UNKNOWN]

    @property
    def cls_id(self) -> int:
        """The id of `[CLS]`."""
        return self._ids[CLS]

    @property
    def sep_id(self) -> int:
        """The id of `[SEP]`."""
        return self._ids[SEP]

    @property
    def mask_id(self) -> int:
        """The id of `[MASK]`."""
        return self._ids[MASK]

    @property
    def special_ids(self) -> tuple[int, ...]:
        """The ids of all special tokens, in the order of `SPECIAL_TOKENS`."""
        return tuple(self._ids[token] for token in SPECIAL_TOKENS)

    def tokenize(self, texts: Any) -> tf.RaggedTensor:
        """Ids of the pieces of each text, without special tokens: (batch,) texts -> (batch, pieces) int32.

        Raises:
            TypeError: `texts` are no texts, or a single one.
            ValueError: there is no text, or one that is no Unicode, or the tensor is not (batch,).
        """
        return self._wordpiece.tokenize(as_strings("texts", texts))

    def tokenize_with_offsets(self, texts: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Ids, and where each piece stands: `text[start:end]`, all (batch, pieces) int32.

        Offsets count characters (Unicode code points) of the text as it was given, and are those of Hugging Face.

        Raises:
            TypeError: `texts` are no texts, or a single one.
            ValueError: there is no text, or one that is no Unicode, or the tensor is not (batch,).
        """
        return self._wordpiece.tokenize_with_offsets(as_strings("texts", texts))

    def encode(
        self, texts: Any, pairs: Any = None, *, max_length: int, pad_to_longest: bool = False
    ) -> dict[str, tf.Tensor]:
        """The model's inputs for texts, or for pairs of texts: `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`.

        What is too long loses pieces from its end; of a pair the longer text gives first, the second
        one on a tie (`truncate_seq_pair` of google-research/bert).

        Args:
            texts: (batch,) texts.
            pairs: (batch,) texts, or None.
            max_length: the most tokens a row, special tokens included.
            pad_to_longest: pad to the longest row of the batch and not to `max_length`.

        Returns:
            token_ids, segment_ids (0 up to the first `[SEP]`, then 1) and padding_mask (1 where there is a
            token), each (batch, length) int32.

        Raises:
            TypeError: `texts` or `pairs` are no texts, or a single one.
            ValueError: `max_length` leaves no room for a piece of each text; there is no text, or one that is no
                Unicode, or there are not as many pairs.
        """
        needed = 3 if pairs is None else 5
        if max_length < needed:
            raise ValueError(f"Tokenizer.encode max_length must be at least {needed}, got {max_length!r}")
        texts = as_strings("texts", texts)
        parts = [self._wordpiece.tokenize(texts)]
        if pairs is not None:
            parts.append(self._wordpiece.tokenize(as_strings("pairs", pairs, like=texts)))
        lengths = fit([tf.cast(part.row_lengths(), tf.int32) for part in parts], max_length - len(parts) - 1)
        width = max_length
        if pad_to_longest:
            width = tf.maximum(tf.reduce_max(tf.add_n(lengths) + len(parts) + 1), 0)  # 0 for an empty batch
        return self._lay_out(parts, lengths, tf.range(width)[tf.newaxis])

    def _lay_out(
        self, parts: list[tf.RaggedTensor], lengths: list[tf.Tensor], columns: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The model's inputs, of the first pieces of each part, in operations that TFLite has too.

        Args:
            parts: (batch, pieces) int32, one or two.
            lengths: (batch,) int32, how many pieces of each part to take.
            columns: (1, width) int32, the numbers of the columns.
        """
        end = tf.zeros_like(lengths[0])[:, tf.newaxis]
        token_ids = tf.where(columns == end, self.cls_id, self.pad_id)
        segment_ids = tf.zeros_like(token_ids)
        for segment, (part, length) in enumerate(zip(parts, lengths, strict=True)):
            start, end = end, end + length[:, tf.newaxis] + 1
            inside = (columns > start) & (columns <= end)
            places = tf.cast(part.row_starts(), tf.int32)[:, tf.newaxis] + columns - start - 1
            # One more, so that a row without pieces has something to point at.
            pieces = tf.concat([part.flat_values, [self.pad_id]], axis=0)
            pieces = tf.gather(pieces, tf.where(inside & (columns < end), places, 0))
            token_ids = tf.where(inside, tf.where(columns == end, self.sep_id, pieces), token_ids)
            segment_ids = tf.where(inside, segment, segment_ids)
        return {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "padding_mask": tf.cast(columns <= end, tf.int32),
        }


def fit(lengths: list[tf.Tensor], room: int) -> list[tf.Tensor]:
    """How many pieces to keep of one text, or of each of two, (batch,) int32; the longer gives first."""
    if len(lengths) == 1:
        return [tf.minimum(lengths[0], room)]
    first, second = lengths
    kept = tf.minimum(first, tf.maximum(room - second, (room + 1) // 2))
    return [kept, tf.minimum(second, room - kept)]


def _index(vocabulary: tuple[str, ...]) -> dict[str, int]:
    """Piece -> id.

    Raises:
        ValueError: the vocabulary is empty, holds a piece twice, an empty or a very long one, or lacks a special token.
    """
    if not vocabulary:
        raise ValueError("Tokenizer.vocabulary must hold at least the special tokens, got no pieces")
    ids: dict[str, int] = {}
    for position, piece in enumerate(vocabulary):
        if not piece or piece in ids:
            rule = "hold each piece once" if piece else "hold no empty piece"
            raise ValueError(f"Tokenizer.vocabulary must {rule}, got {piece!r} as piece {position}")
        if len(piece.encode()) > _MAX_PIECE_BYTES:
            rule = f"hold pieces of at most {_MAX_PIECE_BYTES} bytes"
            raise ValueError(f"Tokenizer.vocabulary must {rule}, got {piece!r} as piece {position}")
        ids[piece] = position
    for token in SPECIAL_TOKENS:
        if token not in ids:
            raise ValueError(f"Tokenizer.vocabulary must hold {token}, got {len(ids)} pieces without it")
    return ids
