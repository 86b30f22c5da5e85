"""Texts that are nearly the same: MinHash signatures in bands (locality-sensitive hashing); numpy only.

Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3: two texts whose sets of shingles have the
Jaccard similarity s share at least one of b bands of r values with the probability 1 - (1 - s^r)^b.
"""

import functools
import re
import string

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

# Letters in lower case, blanks for punctuation; bytes of other characters stay.
_KEPT = {ord(letter): ord(letter.lower()) for letter in string.ascii_letters + string.digits + "_"}
_TABLE = bytes(_KEPT.get(code, 32 if code < 128 else code) for code in range(256))
# From U+0800 on stand the scripts of Asia, many without blanks between words, and typographic punctuation: there each
# character is a word, as BERT has it for Chinese (Devlin et al. 2019).
_WIDE = re.compile("[\u0800-\U0010ffff]")
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# Shingles for which whole tables of products are made; longer texts go permutation by permutation, which keeps to the
# processor's cache and takes less than two thirds of the time; on short ones the calls would take most of it.
_FEW = 1024
_SEED = 1


class Signer:
    """Makes the bands of texts.

    Args:
        threshold: the Jaccard similarity at which the bands are to tell texts apart; datasketch finds the number of
            bands and of rows for which false positives and false negatives together are fewest.
        permutations: values of a signature.
        shingle: words of a shingle.
    """

    def __init__(self, threshold: float, permutations: int, shingle: int) -> None:
        from datasketch import MinHashLSH

        lsh = MinHashLSH(threshold=threshold, num_perm=permutations)
        self.bands, self.rows = int(lsh.b), int(lsh.r)
        self._shingle = shingle
        # h -> a * h mod 2^32 with odd a: Dietzfelbinger et al. 1997, multiply-shift. datasketch's own signatures
        # are as good and take four times as long, as its input has to go through Python numbers.
        rng = np.random.default_rng(_SEED)
        self._factors = rng.integers(0, 2**32, (self.bands * self.rows, 1), dtype=np.uint32) | np.uint32(1)
        # A band's hash is a sum of products (multilinear hashing); each band has its own factors, so that only the
        # same band can meet.
        self._mix = rng.integers(0, 2**64, (self.bands, self.rows), dtype=np.uint64) | np.uint64(1)

    def sign(self, text: str) -> Hashes:
        """The (bands,) hashes of a text; texts that have one in common at the same place are nearly the same."""
        shingles = make_shingles(text, self._shingle)
        if len(shingles) <= _FEW:
            least = (self._factors * shingles).min(axis=1, initial=np.iinfo(np.uint32).max)
        else:
            least = np.empty(len(self._factors), np.uint32)
            products = np.empty_like(shingles)
            for place, factor in enumerate(self._factors[:, 0]):
                least[place] = np.multiply(shingles, factor, out=products).min()
        mixed = (self._mix * least.reshape(self.bands, self.rows)).sum(axis=1)
        return mixed ^ (mixed >> np.uint64(32))


def make_shingles(text: str, words: int) -> NDArray[np.uint32]:
    """Hashes of all runs of so many words; a shorter text is one run."""
    ids = hash_words(text)
    size = max(1, min(words, len(ids)))
    count = max(0, len(ids) - size + 1)
    runs = ids[:count].copy()
    for place in range(1, size):
        runs = runs * _FACTOR + ids[place : count + place]
    runs = (runs ^ (runs >> np.uint64(29))) * _FACTOR
    return (runs >> np.uint64(32)).astype(np.uint32)


def hash_words(text: str) -> Hashes:
    """The hash of each word: its bytes are the coefficients of a polynomial modulo 2^64 (Rabin and Karp 1987).

    All words are hashed at once, from sums over the whole text; a loop in Python takes three times as long.
    """
    if not text.isascii():
        text = _WIDE.sub(r" \g<0> ", text.lower())
    data = np.frombuffer(b" " + text.encode().translate(_TABLE) + b" ", np.uint8)
    blank = data == 32
    edges = np.flatnonzero(blank[1:] != blank[:-1])
    starts, ends = edges[::2], edges[1::2]
    powers, inverses = _powers(1 << len(data).bit_length())
    sums = np.cumsum(powers[: len(data)] * data, dtype=np.uint64)
    return (sums[ends] - sums[starts]) * inverses[starts]


@functools.lru_cache(maxsize=4)
def _powers(count: int) -> tuple[Hashes, Hashes]:
    """The powers of the polynomial's base and of its inverse modulo 2^64."""
    base = int(_FACTOR)
    bases = (np.full(count, number, np.uint64) for number in (base, pow(base, -1, 1 << 64)))
    powers, inverses = (np.multiply.accumulate(each) for each in bases)
    return powers, inverses


def find_pairs(hashes: Hashes, places: Hashes) -> Hashes:
    """(pairs, 2) neighbours among the places with equal hashes: enough to connect all of them.

    Args:
        hashes: of bands.
        places: whose they are, of the same length.
    """
    order = np.lexsort((places, hashes))
    hashes, places = hashes[order], places[order]
    same = hashes[1:] == hashes[:-1]
    return np.stack([places[:-1][same], places[1:][same]], axis=1)


def find_clusters(count: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of `count` items the smallest one that pairs connect it with, which may be itself.

    Args:
        count: of the items.
        pairs: (pairs, 2) numbers of items.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), (count, count))
    _, labels = connected_components(links, directed=False)
    _, first = np.unique(labels, return_index=True)
    return first[labels]
