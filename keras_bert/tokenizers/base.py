"""What all tokenizers share: texts become rows of a model's inputs, whatever their pieces are."""

import abc
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.folders import TOKENIZER_FILE, VOCABULARY_FILE
from keras_bert.options.vocabulary import VocabularyKind
from keras_bert.tokenizers.texts import as_strings


class BaseTokenizer(abc.ABC):
    """Text to token ids, eagerly and in tf.data.

    Texts are a list of `str`, or of `bytes` that hold UTF-8, or a (batch,) string tensor, which may be part of a graph
    and may be empty. All text is text: `[MASK]` in it is two brackets and a word.

    Args:
        vocabulary: the pieces; a piece's position is its id.
        special: what stands for padding, the unknown, the start of a row, the end of a text and what is hidden.
        between: tokens that end a text between the two of a pair: 1 in BERT, 2 in RoBERTa.

    Attributes:
        vocabulary: the pieces.
        special: as given.
        between: as given.
        lowercase: whether text is lowercased; None where that is the definition's own affair.

    Raises:
        ValueError: a special token is no piece.
    """

    lowercase: bool | None = None

    kind: VocabularyKind
    """What its pieces are."""

    def __init__(self, vocabulary: Sequence[str], special: Sequence[str], between: int = 1) -> None:
        self.vocabulary, self.special, self.between = tuple(vocabulary), tuple(special), between
        self._ids = {piece: number for number, piece in enumerate(self.vocabulary)}
        for token in self.special:
            if token not in self._ids:
                raise ValueError(f"Tokenizer.vocabulary must hold {token}, got {len(self._ids)} pieces without it")

    @abc.abstractmethod
    def definition(self) -> dict[str, Any]:
        """What `tokenizer.json` says of it, besides the vocabulary."""

    @abc.abstractmethod
    def continues(self, piece: str) -> bool:
        """Whether a piece goes on with a word that another one began."""

    @abc.abstractmethod
    def count_bytes(self, piece: str) -> int:
        """How many bytes of UTF-8 a piece stands for, with the space in front of the word that it begins."""

    @abc.abstractmethod
    def tokenize(self, texts: Any) -> tf.RaggedTensor:
        """Ids of the pieces of each text, without special tokens: (batch,) texts -> (batch, pieces) int32.

        Raises:
            TypeError: `texts` are no texts, or a single one.
            ValueError: there is no text, or one that is no Unicode, or the tensor is not (batch,).
        """

    @abc.abstractmethod
    def tokenize_with_offsets(self, texts: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Ids, and where each piece stands: `text[start:end]`, all (batch, pieces) int32.

        Offsets count characters (Unicode code points) of the text as it was given, and are those of Hugging Face.

        Raises:
            TypeError: `texts` are no texts, or a single one.
            ValueError: there is no text, or one that is no Unicode, or the tensor is not (batch,).
        """

    def tokenize_words(self, words: Sequence[str]) -> tf.RaggedTensor:
        """Ids of the pieces of each word as it stands within a text: (batch,) words -> (batch, pieces) int32."""
        return self.tokenize(words)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes `vocab.txt` (one piece a line) and `tokenizer.json` into an existing folder."""
        lines = "".join(f"{piece}\n" for piece in self.vocabulary)
        (Path(folder) / VOCABULARY_FILE).write_bytes(lines.encode())
        content = json.dumps(self.definition(), ensure_ascii=False)
        (Path(folder) / TOKENIZER_FILE).write_text(content + "\n", encoding="utf-8")

    @property
    def vocabulary_size(self) -> int:
        """The number of pieces, special tokens included."""
        return len(self.vocabulary)

    @property
    def pad_id(self) -> int:
        """The id of what fills rows up."""
        return self._ids[self.special[0]]

    @property
    def unknown_id(self) -> int:
        """The id of what stands for text that no piece covers."""
        return self._ids[self.special[1]]

    @property
    def cls_id(self) -> int:
        """The id of what begins a row."""
        return self._ids[self.special[2]]

    @property
    def sep_id(self) -> int:
        """The id of what ends a text."""
        return self._ids[self.special[3]]

    @property
    def mask_id(self) -> int:
        """The id of what hides a token."""
        return self._ids[self.mask]

    @property
    def mask(self) -> str:
        """The piece that hides a token, `[MASK]` or `<mask>`."""
        return self.special[4]

    @property
    def special_ids(self) -> tuple[int, ...]:
        """The ids of all special tokens, in the order of `special`."""
        return tuple(self._ids[token] for token in self.special)

    def special_count(self, texts: int) -> int:
        """The special tokens of a row of one text or of two."""
        return 2 if texts == 1 else 2 + self.between

    def word_marks(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(vocabulary,), which pieces continue a word; no special token does."""
        special = set(self.special)
        return np.array([piece not in special and self.continues(piece) for piece in self.vocabulary], bool)

    def encode(
        self, texts: Any, pairs: Any = None, *, max_length: int, pad_to_longest: bool = False
    ) -> dict[str, tf.Tensor]:
        """The model's inputs for texts, or for pairs of texts: `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`.

        Between the two texts of a pair stand as many separators as `between` says. What is too long loses pieces from
        its end; of a pair the longer text gives first, the second one on a tie (`truncate_seq_pair` of
        google-research/bert).

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
        parts = [self.tokenize(side) for side in self._sides(texts, pairs, max_length)]
        lengths = self._fit(parts, max_length)
        width = max_length
        if pad_to_longest:
            longest = tf.reduce_max(tf.add_n(lengths) + self.special_count(len(parts)))
            width = tf.maximum(longest, 0)  # 0 for an empty batch
        return self._lay_out(parts, lengths, tf.range(width)[tf.newaxis])

    def _sides(self, texts: Any, pairs: Any, max_length: int) -> list[tf.Tensor]:
        """The texts of rows, or both sides of pairs, each (batch,); see `encode`."""
        texts_a_row = 1 if pairs is None else 2
        needed = self.special_count(texts_a_row) + texts_a_row
        if max_length < needed:
            raise ValueError(f"Tokenizer.encode max_length must be at least {needed}, got {max_length!r}")
        texts = as_strings("texts", texts)
        return [texts] if pairs is None else [texts, as_strings("pairs", pairs, like=texts)]

    def _fit(self, parts: Sequence[tf.RaggedTensor], max_length: int) -> list[tf.Tensor]:
        """How many pieces of each part a row has, (batch,) int32."""
        room = max_length - self.special_count(len(parts))
        return fit([tf.cast(part.row_lengths(), tf.int32) for part in parts], room)

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
            for _ in range(self.between - 1 if segment else 0):
                end += 1
                token_ids = tf.where(columns == end, self.sep_id, token_ids)
            start, end = end, end + length[:, tf.newaxis] + 1
            inside = (columns > start) & (columns <= end)
            pieces = pick(part, inside & (columns < end), columns - start - 1)
            token_ids = tf.where(inside, tf.where(columns == end, self.sep_id, pieces), token_ids)
            segment_ids = tf.where(inside, segment, segment_ids)
        return {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "padding_mask": tf.cast(columns <= end, tf.int32),
        }


def pick(part: tf.RaggedTensor, wanted: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Values of rows by their places, in operations that TFLite has too; anything where none is wanted.

    Args:
        part: (batch, values) int32.
        wanted: (batch, width) bool.
        columns: (batch, width) int32, the places in each row, where they are wanted.
    """
    places = tf.cast(part.row_starts(), tf.int32)[:, tf.newaxis] + columns
    # One more, so that a row without values has something to point at.
    values = tf.concat([part.flat_values, [0]], axis=0)
    return tf.gather(values, tf.where(wanted, places, 0))


def fit(lengths: list[tf.Tensor], room: int) -> list[tf.Tensor]:
    """How many pieces to keep of one text, or of each of two, (batch,) int32; the longer gives first."""
    if len(lengths) == 1:
        return [tf.minimum(lengths[0], room)]
    first, second = lengths
    kept = tf.minimum(first, tf.maximum(room - second, (room + 1) // 2))
    return [kept, tf.minimum(second, room - kept)]
