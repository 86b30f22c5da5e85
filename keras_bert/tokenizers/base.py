"""The interface of all tokenizers, in TensorFlow and without it: a vocabulary, its special tokens, and `encode`."""

import abc
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.folders import TOKENIZER_FILE, VOCABULARY_FILE
from keras_bert.options.vocabulary import VocabularyKind


class BaseTokenizer(abc.ABC):
    """Text to token ids. `[MASK]` in a text is plain text: two brackets and a word.

    `GraphTokenizer` computes in TensorFlow, in tf.data and exported graphs too; `EagerTokenizer` in NumPy.

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
    def tokenize(self, texts: Any) -> Any:
        """Ids of the pieces of each text, without special tokens: (batch,) texts -> (batch, pieces) int32.

        Returns:
            Ragged rows, with `flat_values`, `row_splits`, `row_lengths()` and `to_list()`.

        Raises:
            TypeError: `texts` are no texts, or a single one.
            ValueError: there is no text, or one that is no Unicode, or the tensor is not (batch,).
        """

    @abc.abstractmethod
    def tokenize_with_offsets(self, texts: Any) -> tuple[Any, Any, Any]:
        """Ids, and where each piece stands: `text[start:end]`, all (batch, pieces) int32.

        Offsets count characters (Unicode code points) of the text as it was given, and are those of Hugging Face.

        Raises:
            TypeError: `texts` are no texts, or a single one.
            ValueError: there is no text, or one that is no Unicode, or the tensor is not (batch,).
        """

    def tokenize_words(self, words: Sequence[str]) -> Any:
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

    @abc.abstractmethod
    def encode(self, texts: Any, pairs: Any = None, *, max_length: int, pad_to_longest: bool = False) -> dict[str, Any]:
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

    def check_room(self, texts: int, max_length: int) -> None:
        """Checks that a row of one text or of two has room for a piece of each.

        Raises:
            ValueError: it has not.
        """
        needed = self.special_count(texts) + texts
        if max_length < needed:
            raise ValueError(f"Tokenizer.encode max_length must be at least {needed}, got {max_length!r}")


def share_room(lengths: Sequence[Any], room: int, library: Any) -> list[Any]:
    """How many pieces to keep of one text, or of each of two, each (batch,); the longer gives first.

    Args:
        lengths: the pieces of each text, each (batch,).
        room: the most pieces of a row.
        library: whose arrays these are: TensorFlow or NumPy.
    """
    if len(lengths) == 1:
        return [library.minimum(lengths[0], room)]
    first, second = lengths
    kept = library.minimum(first, library.maximum(room - second, (room + 1) // 2))
    return [kept, library.minimum(second, room - kept)]
