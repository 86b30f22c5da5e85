"""Texts that stand in longer ones, exactly or nearly, wherever sentences begin and end; NumPy only.

Seed and extend, as searches in genomes do (Altschul et al. 1990): pairs of adjacent words that both texts have vote for
the place where one would start in the other; a place with enough votes is compared exactly.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from components.text.near_duplicates import Hashes, hash_words, shingle_words

# The least share of a text's pairs that vote for one place. Of texts that share 60 % of all pairs, each has 75 % of its
# own; a word that was put in parts them into two places.
_VOTES = 0.25
# Words that a passage may be shorter or longer than the text.
_SLACK = 1


class Passage(NamedTuple):
    """A text in a longer one.

    Attributes:
        start: its first word there.
        stop: the word after its last.
        is_equal: whether it has exactly these words.
    """

    number: int
    start: int
    stop: int
    is_equal: bool


class PassageIndex:
    """Looks texts up in longer ones; letter case and punctuation do not matter.

    Each text has at least two words. A passage is nearly a text from this Jaccard similarity of pairs of adjacent words
    on.
    """

    def __init__(self, texts: Sequence[str], similarity: float) -> None:
        self._similarity = similarity
        self._words = [hash_words(text) for text in texts]
        pairs = [shingle_words(words, 2) for words in self._words]
        self._pairs = [np.unique(text_pairs) for text_pairs in pairs]
        hashes = np.concatenate([np.empty(0, np.uint32), *pairs])
        order = np.argsort(hashes, kind="stable")
        lengths = [len(text_pairs) for text_pairs in pairs]
        self._hashes = hashes[order]
        self._owners = np.repeat(np.arange(len(texts)), lengths)[order]
        self._offsets = np.concatenate([np.empty(0, int), *(np.arange(length) for length in lengths)])[order]
        self._least_votes = np.ceil(_VOTES * np.array(lengths))

    def find(self, words: Hashes) -> list[Passage]:
        """The passages of a text, given the hashes of its words, see `hash_words`; they may overlap."""
        pairs = shingle_words(words, 2)
        first = np.searchsorted(self._hashes, pairs, "left")
        counts = np.searchsorted(self._hashes, pairs, "right") - first
        entries = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        starts = np.repeat(np.arange(len(pairs)), counts) - self._offsets[entries]
        places, votes = np.unique(np.stack([self._owners[entries], starts]), axis=1, return_counts=True)
        enough = votes >= self._least_votes[places[0]]
        passages = []
        for number, start in places[:, enough].T.tolist():
            length = len(self._words[number])
            if start >= 0 and np.array_equal(words[start : start + length], self._words[number]):
                passages.append(Passage(number, start, start + length, is_equal=True))
                continue
            begin, stops = max(start, 0), range(start + length - _SLACK, start + length + _SLACK + 1)
            ends = sorted({min(stop, len(words)) for stop in stops if stop > begin + 1}, reverse=True)
            scores = [_similarity(np.unique(shingle_words(words[begin:end], 2)), self._pairs[number]) for end in ends]
            if max(scores, default=0.0) >= self._similarity:
                passages.append(Passage(number, begin, ends[scores.index(max(scores))], is_equal=False))
        return passages


def _similarity(one: "np.ndarray[Any, Any]", other: "np.ndarray[Any, Any]") -> float:
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)
