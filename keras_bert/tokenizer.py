"""Text to token ids as graph operations, so that it runs eagerly, in tf.data and inside an exported model."""

import functools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_text as tf_text

VOCABULARY_FILE = "vocab.txt"
OPTIONS_FILE = "tokenizer.json"

PAD, UNKNOWN, CLS, SEP, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Tokenizer:
    """BERT's WordPiece tokenizer (Devlin et al. 2019) on tensorflow-text's FastBertTokenizer.

    Attributes:
        vocabulary: the pieces; a piece's position is its id.
        lowercase: whether text is lowercased and stripped of its accents first.
    """

    def __init__(self, vocabulary: Sequence[str], lowercase: bool) -> None:
        self.vocabulary = tuple(vocabulary)
        self.lowercase = lowercase
        self._ids = _index(self.vocabulary)
        self._pieces = _build(self.vocabulary, lowercase)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Tokenizer":
        """Reads what `save` wrote.

        Raises:
            FileNotFoundError: one of the two files is missing.
            ValueError: the vocabulary cannot be used.
        """
        text = (Path(folder) / VOCABULARY_FILE).read_text(encoding="utf-8")
        options = json.loads((Path(folder) / OPTIONS_FILE).read_text())
        return cls(text.removesuffix("\n").split("\n") if text else [], options["lowercase"])

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes `vocab.txt` (one piece a line) and `tokenizer.json` into an existing folder."""
        lines = "".join(f"{piece}\n" for piece in self.vocabulary)
        (Path(folder) / VOCABULARY_FILE).write_bytes(lines.encode())
        (Path(folder) / OPTIONS_FILE).write_text(json.dumps({"lowercase": self.lowercase}) + "\n")

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
        """Ids of the pieces of each text, without special tokens: (batch,) strings -> (batch, pieces) int32."""
        return self._pieces.tokenize(tf.convert_to_tensor(texts, tf.string))

    def tokenize_with_offsets(self, texts: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Ids, and the byte of the UTF-8 text where each piece starts and where it ends, all (batch, pieces)."""
        return self._pieces.tokenize_with_offsets(tf.convert_to_tensor(texts, tf.string))

    def encode(
        self, texts: Any, pairs: Any = None, *, max_length: int, pad_to_longest: bool = False
    ) -> dict[str, tf.Tensor]:
        """The model's inputs for texts, or for pairs of texts: `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`.

        What is too long loses pieces from its end; of a pair the longer text gives first, the second
        one on a tie (`truncate_seq_pair` of google-research/bert).

        Args:
            texts: (batch,) strings.
            pairs: (batch,) strings, or None.
            max_length: the most tokens a row, special tokens included.
            pad_to_longest: pad to the longest row of the batch and not to `max_length`.

        Returns:
            token_ids, segment_ids (0 up to the first `[SEP]`, then 1) and padding_mask (1 where there is a
            token), each (batch, length) int32.

        Raises:
            ValueError: `max_length` leaves no room for a piece of each text.
        """
        needed = 3 if pairs is None else 5
        if max_length < needed:
            raise ValueError(f"Tokenizer.encode max_length must be at least {needed}, got {max_length!r}")
        first = self.tokenize(texts)
        parts = [first[:, : max_length - 2]] if pairs is None else fit_pair(first, self.tokenize(pairs), max_length - 3)
        rows = first.nrows()
        cls, sep = (tf.fill([rows, 1], tf.constant(token, tf.int32)) for token in (self.cls_id, self.sep_id))
        pieces = [cls]
        segments = []
        for segment, part in enumerate(parts):
            pieces += [part, sep]
            width = part.row_lengths() + (2 if segment == 0 else 1)
            segments.append(_fill_rows(width, segment))
        token_ids, segment_ids = tf.concat(pieces, axis=1), tf.concat(segments, axis=1)
        shape = [None, None if pad_to_longest else max_length]
        return {
            "token_ids": token_ids.to_tensor(self.pad_id, shape=shape),
            "segment_ids": segment_ids.to_tensor(0, shape=shape),
            "padding_mask": tf.ones_like(token_ids).to_tensor(0, shape=shape),
        }


def fit_pair(first: tf.RaggedTensor, second: tf.RaggedTensor, room: int) -> list[tf.RaggedTensor]:
    """Cuts both at their ends until each row's pair has at most `room` tokens; the longer one gives first."""
    long, short = tf.cast(first.row_lengths(), tf.int32), tf.cast(second.row_lengths(), tf.int32)
    keep_first = tf.minimum(long, tf.maximum(room - short, (room + 1) // 2))
    keep_second = tf.minimum(short, room - keep_first)
    return [_keep(first, keep_first), _keep(second, keep_second)]


def _keep(rows: tf.RaggedTensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    """The first `lengths` tokens of each row."""
    positions = tf.ragged.range(tf.cast(rows.row_lengths(), tf.int32))
    inside = positions.flat_values < tf.gather(lengths, tf.cast(rows.value_rowids(), tf.int32))
    return tf.ragged.boolean_mask(rows, rows.with_flat_values(inside))


def _fill_rows(lengths: tf.Tensor, value: int) -> tf.RaggedTensor:
    total = tf.reduce_sum(lengths)
    return tf.RaggedTensor.from_row_lengths(tf.fill([total], tf.constant(value, tf.int32)), lengths)


def _index(vocabulary: tuple[str, ...]) -> dict[str, int]:
    """Piece -> id.

    Raises:
        ValueError: the vocabulary is empty, holds a piece twice or an empty one, or lacks a special token.
    """
    if not vocabulary:
        raise ValueError("Tokenizer.vocabulary must hold at least the special tokens, got no pieces")
    ids: dict[str, int] = {}
    for position, piece in enumerate(vocabulary):
        if not piece or piece in ids:
            rule = "hold each piece once" if piece else "hold no empty piece"
            raise ValueError(f"Tokenizer.vocabulary must {rule}, got {piece!r} as piece {position}")
        ids[piece] = position
    for token in SPECIAL_TOKENS:
        if token not in ids:
            raise ValueError(f"Tokenizer.vocabulary must hold {token}, got {len(ids)} pieces without it")
    return ids


# Building the matcher takes a moment for a large vocabulary, and a process asks for the same one again and again.
@functools.lru_cache(maxsize=4)
def _build(vocabulary: tuple[str, ...], lowercase: bool) -> tf_text.FastBertTokenizer:
    return tf_text.FastBertTokenizer(
        vocab=list(vocabulary),
        token_out_type=tf.int32,
        unknown_token=UNKNOWN,
        lower_case_nfd_strip_accents=lowercase,
    )
