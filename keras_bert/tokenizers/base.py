"""The interface of all tokenizers, with and without TensorFlow."""

import abc
import json
import logging
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_bert.core.folders import TOKENIZER_FILE, VOCABULARY_FILE
from keras_bert.options.data import Lowercasing, VocabularyKind

if TYPE_CHECKING:
    import numpy as np


logger = logging.getLogger(__name__)

# The usual names of special tokens.
_MARKER = re.compile(r"\[[A-Z0-9]+\]|</?\w+>")


class BaseTokenizer(abc.ABC):
    """Converts text to token ids. `[MASK]` in a text is plain text: two brackets and a word.

    `GraphTokenizer` runs in TensorFlow, also in tf.data and exported graphs; `EagerTokenizer` uses NumPy.

    Attributes:
        vocabulary: the tokens; the index of a token is its id.
        special: the special tokens for padding, unknown text, the start of a row, the end of a text, and masked tokens.
        special_ids: the ids of `special`, also as `pad_id`, `unknown_id`, `cls_id`, `sep_id` and `mask_id`.
        mask: the mask token, `[MASK]` or `<mask>`.
        between: the number of end tokens between the two texts of a pair: 1 in BERT, 2 in RoBERTa.
        second_segment: the segment of a pair's second text: 1 in BERT, 0 in XLM-R.
        lowercase: whether text is lowercased; None if the definition of the tokenizer decides it.

    Raises:
        ValueError: a special token is not in the vocabulary.
    """

    lowercase: Lowercasing | None = None

    kind: VocabularyKind
    """The tokenization algorithm."""

    def __init__(
        self, vocabulary: Sequence[str], special: Sequence[str], between: int = 1, second_segment: int = 1
    ) -> None:
        self.vocabulary, self.special = tuple(vocabulary), tuple(special)
        self.between, self.second_segment = between, second_segment
        self._ids = {token: number for number, token in enumerate(self.vocabulary)}
        for token in self.special:
            if token not in self._ids:
                raise ValueError(f"Tokenizer.vocabulary must hold {token}, got {len(self._ids)} tokens without it")
        self.special_ids = tuple(self._ids[token] for token in self.special)
        self.pad_id, self.unknown_id, self.cls_id, self.sep_id, self.mask_id = self.special_ids
        self.mask = self.special[-1]
        self._markers = {token for token in self.vocabulary if _MARKER.fullmatch(token)}
        self._markers -= {*self.special} - {self.special[3]}

    def report_markers(self, texts: Iterable[bytes]) -> None:
        """Warns once of each special token whose name stands in a text, where it is read as letters."""
        marked = (text.decode("utf-8", "replace") for text in texts if b"[" in text or b"<" in text)
        markers = self._markers & {name for text in marked for name in _MARKER.findall(text)}
        self._markers -= markers
        for name in sorted(markers):
            logger.warning("a text holds %s: it is read as letters, not as the special token of this name", name)

    @abc.abstractmethod
    def definition(self) -> dict[str, Any]:
        """Returns the content of `tokenizer.json`, which has no vocabulary."""

    @abc.abstractmethod
    def continues(self, token: str) -> bool:
        """Whether a token continues a word."""

    @abc.abstractmethod
    def count_bytes(self, token: str) -> int:
        """Returns the number of UTF-8 bytes of a token, including the space before a word that it begins."""

    @abc.abstractmethod
    def tokenize(self, texts: Any) -> Any:
        """Ids of the tokens of each text, without special tokens: (batch,) texts -> (batch, tokens) int32.

        The ragged rows have `flat_values`, `row_splits`, `row_lengths()` and `to_list()`.

        Raises:
            TypeError: `texts` are not texts, or a single one.
            ValueError: there is no text, or one that is not Unicode, or the tensor is not (batch,).
        """

    @abc.abstractmethod
    def tokenize_with_offsets(self, texts: Any) -> tuple[Any, Any, Any]:
        """Ids, starts and ends of the tokens, `text[start:end]`, all (batch, tokens) int32.

        Offsets count characters (Unicode code points) of the original text, and equal those of Hugging Face.

        Raises:
            TypeError, ValueError: see `tokenize`.
        """

    def tokenize_words(self, words: Sequence[str]) -> Any:
        """Ids of the tokens of each word as it stands within a text: (batch,) words -> (batch, tokens) int32."""
        return self.tokenize(words)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes `vocab.txt` (a token on each line) and `tokenizer.json` into an existing folder."""
        lines = "".join(f"{line}\n" for line in vocabulary_lines(self.vocabulary))
        (Path(folder) / VOCABULARY_FILE).write_bytes(lines.encode())
        content = json.dumps(self.definition(), ensure_ascii=False)
        (Path(folder) / TOKENIZER_FILE).write_text(content + "\n", encoding="utf-8")

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens, special tokens included."""
        return len(self.vocabulary)

    def special_count(self, texts: int) -> int:
        """The number of special tokens of a row with one text or two."""
        return 2 if texts == 1 else 2 + self.between

    def word_marks(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Returns whether each token continues a word (vocabulary,) bool; False for special tokens."""
        import numpy as np  # commands read checkpoints without it

        special = set(self.special)
        return np.array([token not in special and self.continues(token) for token in self.vocabulary], bool)

    @abc.abstractmethod
    def encode(self, texts: Any, pairs: Any = None, *, max_length: int, pad_to_longest: bool = False) -> dict[str, Any]:
        """Returns the model's inputs for texts or pairs of texts: `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`.

        Between the two texts of a pair there are `between` separators. Long texts are truncated, see
        `count_kept_tokens`.

        Args:
            texts: (batch,) texts.
            pairs: (batch,) texts, or None.
            max_length: the maximum number of tokens of a row, special tokens included.
            pad_to_longest: pads to the longest row of the batch, not to `max_length`.

        Returns:
            token_ids, segment_ids (0, and `second_segment` for the second text and its end) and padding_mask (1 for a
            token, 0 for padding), each (batch, length) int32.

        Raises:
            TypeError: `texts` or `pairs` are not texts, or a single one.
            ValueError: `max_length` leaves no room for a token of each text; there is no text, or a text that is
                not Unicode, or the numbers of texts and pairs differ.
        """

    def check_room(self, texts: int, max_length: int) -> None:
        """Checks that a row has room for at least one token of each text."""
        needed = self.special_count(texts) + texts
        if max_length < needed:
            raise ValueError(f"Tokenizer.encode max_length must be at least {needed}, got {max_length!r}")


def vocabulary_lines(tokens: Sequence[str]) -> list[str]:
    """The lines of `vocab.txt`: tokens, with Unicode's symbols for line ends in place of line ends (as in Gemma)."""
    return [token.replace("\n", "\u2424").replace("\r", "\u240d") for token in tokens]


def count_kept_tokens(lengths: Sequence[Any], room: int, library: Any) -> list[Any]:
    """Returns the number of tokens (batch,) to keep of each text of a row.

    Pairs are truncated as by `longest_first` of Hugging Face's fast tokenizers: only the longer text if the other one
    fits into half of the row. If both are longer, each gets half; of an odd number of tokens the longer text gets one
    more, and the second text if both have the same length.

    `lengths` are the numbers of tokens of each text (batch,), and `room` is the maximum number of tokens per row, both
    without special tokens. `library` is the module of the arrays: TensorFlow or NumPy.
    """
    if len(lengths) == 1:
        return [library.minimum(lengths[0], room)]
    first, second = lengths
    half = (room + library.minimum(library.maximum(first - second, 0), 1)) // 2
    kept = library.minimum(first, library.maximum(room - second, half))
    return [kept, library.minimum(second, room - kept)]
