"""The words of training rows, as hashes that are small enough to stand beside a model."""

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.examples.base import TaskRows
from components.examples.row_traits import sample_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    WordHashes = NDArray[np.uint32]

# The most words of a reference; with 4 bytes each, it takes 87 kB as text.
MOST_WORDS = 16_384


class WordReference(NamedTuple):
    """The most frequent words of rows.

    Attributes:
        words: their hashes, sorted, as base64 of little-endian integers of 32 bits.
        new: the share of words that further rows of the same source should have and this reference has not: that of
            words which stand in the rows once (Good 1953), or are left out.
    """

    words: str
    new: float

    @classmethod
    def of(cls, hashes: "WordHashes") -> "WordReference":
        """The reference of the words of rows, given their hashes (words,)."""
        import numpy as np

        words, counts = np.unique(hashes, return_counts=True)
        most = np.argsort(-counts, kind="stable")[:MOST_WORDS]
        kept = np.sort(words[most]).astype("<u4")
        expected = counts[most][counts[most] > 1].sum()
        return cls(base64.b64encode(kept.tobytes()).decode(), float(1 - expected / len(hashes)) if len(hashes) else 0.0)


def decode_words(words: str) -> "WordHashes":
    """The hashes (words,) of a reference.

    Raises:
        ValueError: the text is no base64 of integers of 32 bits.
    """
    import numpy as np

    return np.frombuffer(base64.b64decode(words, validate=True), "<u4")


def hash_row_words(rows: Sequence[Any], task: TaskRows[Any]) -> "WordHashes":
    """The hashes (words,) of all words of a sample of rows, see `components.text.near_duplicates.hash_words`."""
    import numpy as np

    from components.text.near_duplicates import make_shingles

    hashes = [make_shingles(text, 1) for row in sample_rows(rows) for text in task.texts(row)]
    return np.concatenate([np.empty(0, np.uint32), *hashes])
