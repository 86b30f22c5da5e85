"""Texts that nearly equal the texts of other rows, found by MinHash."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from components.examples.splits import fold_key

if TYPE_CHECKING:
    from components.text.near_duplicates import Hashes

    Shingles = tuple[np.ndarray[Any, Any], ...]

# Two texts are compared by their pairs of adjacent words: of longer runs short texts have too few.
_SHINGLE = 2
# The Jaccard similarity of near duplicates: one word of nine is another (6 of 10 pairs are shared).
SIMILARITY = 0.6
# Candidates have half of it, so that hashes miss one pair in 8,000 at the similarity itself (37 bands of 3); all
# candidates are compared exactly.
_CANDIDATE_SIMILARITY, _PERMUTATIONS = SIMILARITY / 2, 128

Key = tuple[str, ...]


class NearTexts:
    """The texts of rows, see `TaskRows.key`, to look up which other rows have nearly the same ones."""

    def __init__(self, keys: Iterable[Key]) -> None:
        from components.text.near_duplicates import Signer

        self._signer = Signer(_CANDIDATE_SIMILARITY, _PERMUTATIONS, _SHINGLE)
        self._keys = list(dict.fromkeys(keys))
        self._folded = {fold_key(key) for key in self._keys}
        self._shingles: dict[int, Shingles] = {}
        self._bands: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(self._signer.bands)]
        for number, key in enumerate(self._keys):
            for band, value in zip(self._bands, self._sign(key), strict=True):
                band[value].append(number)

    def _sign(self, key: Key) -> list[int]:
        hashes: Hashes = self._signer.sign("\n".join(key))
        return hashes.tolist()

    def has_equal(self, key: Key) -> bool:
        """Whether a row has exactly these texts (see `fold`)."""
        return fold_key(key) in self._folded

    def has_near(self, key: Key) -> bool:
        """Whether a row has nearly the same texts, in any order, and none has exactly these (see `fold`)."""
        return not self.has_equal(key) and next(self.find_near(key), None) is not None

    def find_near(self, key: Key) -> Iterator[Key]:
        """The different texts of rows that are nearly or exactly these."""
        numbers = {
            number for band, value in zip(self._bands, self._sign(key), strict=True) for number in band.get(value, ())
        }
        shingles = _make_shingles(key) if numbers else ()
        for number in sorted(numbers):
            if number not in self._shingles:
                self._shingles[number] = _make_shingles(self._keys[number])
            # The texts of keys may be sorted, and nearly equal texts may sort differently.
            if _are_near(shingles, self._shingles[number]) or _are_near(shingles[::-1], self._shingles[number]):
                yield self._keys[number]


def _make_shingles(key: Key) -> "Shingles":
    from components.text.near_duplicates import make_shingles

    return tuple(np.unique(make_shingles(text, _SHINGLE)) for text in key if text)


def _are_near(first: "Shingles", second: "Shingles") -> bool:
    """Whether the Jaccard similarity of each text with its counterpart is high enough."""
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        shared = len(np.intersect1d(one, other, assume_unique=True))
        if shared < SIMILARITY * (len(one) + len(other) - shared) or not shared:
            return False
    return True
