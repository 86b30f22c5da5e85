"""Tokens of texts by Hugging Face's `tokenizers`, as ragged rows in NumPy; texts as UTF-8."""

import dataclasses
import reprlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from keras_bert.core.checks import as_list


def encode_texts(name: str, texts: Any) -> list[bytes]:
    """A list of texts, or of `bytes` that hold UTF-8, as UTF-8."""
    encoded = []
    for place, text in enumerate(as_list(name, texts, "texts")):
        if not isinstance(text, str | bytes):
            raise TypeError(f"{name}[{place}] must be text, got {reprlib.repr(text)}")
        try:
            encoded.append(text if isinstance(text, bytes) else text.encode())
        except UnicodeEncodeError:
            raise ValueError(f"{name}[{place}] must hold no lone surrogate, got {reprlib.repr(text)}") from None
    if not encoded:
        raise ValueError(f"{name} must hold at least one text, got none")
    return encoded


Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of numbers of different lengths, as in a `tf.RaggedTensor`: int32 numbers of all, and int64 splits."""

    flat_values: Array
    row_splits: Array

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Self:
        """Makes rows from lists of numbers."""
        numbers = [number for row in rows for number in row]
        return cls(np.array(numbers, np.int32), np.cumsum([0, *map(len, rows)], dtype=np.int64))

    def row_lengths(self) -> Array:
        """The length of each row (rows,) int64."""
        return np.diff(self.row_splits)

    def to_list(self) -> list[list[int]]:
        """Each row as a list."""
        return [row.tolist() for row in np.split(self.flat_values, self.row_splits[1:-1])]


def tokenize_rows(matcher: Any, texts: Sequence[bytes]) -> Rows:
    """Ids of the tokens of texts in UTF-8 by a `tokenizers.Tokenizer`; other bytes count as U+FFFD."""
    return Rows.of([encoding.ids for encoding in _encode(matcher, _decode(texts))])


def tokenize_rows_with_offsets(matcher: Any, texts: Sequence[bytes]) -> tuple[Rows, Rows, Rows]:
    """The token ids, and the characters where each token starts and ends, without white space in front of it."""
    decoded = _decode(texts)
    encodings = _encode(matcher, decoded)
    starts = [
        [_skip_space(text, *place) for place in encoding.offsets]
        for text, encoding in zip(decoded, encodings, strict=True)
    ]
    ends = [[end for _, end in encoding.offsets] for encoding in encodings]
    return Rows.of([encoding.ids for encoding in encodings]), Rows.of(starts), Rows.of(ends)


def _decode(texts: Sequence[bytes]) -> list[str]:
    return [text.decode("utf-8", "replace") for text in texts]


def _encode(matcher: Any, texts: Sequence[str]) -> list[Any]:
    encodings: list[Any] = matcher.encode_batch(texts, add_special_tokens=False)
    return encodings


def _skip_space(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start
