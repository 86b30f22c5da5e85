"""Gopher's rules against repetitive documents (Rae et al. 2021, appendix A.1.2 and table A1)."""

import re
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint64]

# Table A1: the largest shares of duplicate lines or paragraphs, and of the characters in them.
_DUPLICATE_PARTS = 0.30
_DUPLICATE_PART_CHARACTERS = 0.20
# The largest share of characters in the most frequent n-gram, ...
_TOP_NGRAM = {2: 0.20, 3: 0.18, 4: 0.16}
# ... and in n-grams that occur more than once in the document.
_DUPLICATE_NGRAMS = {5: 0.15, 6: 0.14, 7: 0.13, 8: 0.12, 9: 0.11, 10: 0.10}
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def find_repetition(text: str, *, ngrams: bool) -> str | None:
    """The first of Gopher's rules that a document breaks, with its figures, or None.

    The text must not be blank; with `ngrams` the rules about n-grams count, too.
    """
    shares = [*_part_shares(text), *(_ngram_shares(text) if ngrams else ())]
    violations = (f"{share:.0%} {rule}, the maximum is {most:.0%}" for rule, share, most in shares if share > most)
    return next(violations, None)


def _part_shares(text: str) -> Iterator[tuple[str, float, float]]:
    """(rule, share, largest share) of lines and paragraphs."""
    for name, parts in (("lines", text.split("\n")), ("paragraphs", _PARAGRAPH_END.split(text))):
        filled = [part.strip() for part in parts if part and not part.isspace()]
        total = sum(map(len, filled))
        repeated = len(filled) - len(set(filled))
        if repeated:
            characters = total - sum(map(len, set(filled)))
            yield f"duplicate {name}", repeated / len(filled), _DUPLICATE_PARTS
            yield f"characters in duplicate {name}", characters / total, _DUPLICATE_PART_CHARACTERS


def _ngram_shares(text: str) -> Iterator[tuple[str, float, float]]:
    """(rule, share, largest share) of n-grams of words; characters are counted in words, without white space."""
    words = text.split()
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    ids = np.fromiter((zlib.crc32(word.encode()) for word in words), np.uint64, len(words))
    total = int(lengths.sum())
    for n, most in _TOP_NGRAM.items():
        if len(words) >= n:
            yield f"characters in the most frequent {n}-gram", _top_share(_join(ids, n), lengths, n, total), most
    for n, most in _DUPLICATE_NGRAMS.items():
        if len(words) >= n:
            # Every character of a repeated n-gram counts once.
            ngrams = _join(ids, n)
            _, first = np.unique(ngrams, return_index=True)
            repeats = np.ones(len(ngrams), bool)
            repeats[first] = False
            edges = np.zeros(len(lengths) + 1, np.int64)
            edges[: len(ngrams)] += repeats
            edges[n : n + len(ngrams)] -= repeats
            yield f"characters in duplicate {n}-grams", float(lengths[np.cumsum(edges[:-1]) > 0].sum()) / total, most


def _join(ids: Ids, n: int) -> Ids:
    """A hash of each run of `n` ids."""
    count = len(ids) - n + 1
    joined = ids[:count].copy()
    for place in range(1, n):
        joined = joined * _FACTOR + ids[place : count + place]
    return joined


def _top_share(ngrams: Ids, lengths: NDArray[np.int64], n: int, total: int) -> float:
    """The share of the characters in all copies of the most frequent n-gram; 0 if no n-gram occurs twice."""
    _, first, counts = np.unique(ngrams, return_index=True, return_counts=True)
    top = int(counts.max())
    if top < 2:
        return 0.0
    size = max(int(lengths[place : place + n].sum()) for place in first[counts == top])
    return size * top / total
