"""Near-duplicate detection with banded MinHash signatures (locality-sensitive hashing); NumPy only.

Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3: two texts whose sets of shingles have the
Jaccard similarity s share at least one of b bands of r values with the probability 1 - (1 - s^r)^b.
"""

import functools
import string
import unicodedata

import numpy as np
from numpy.typing import NDArray

from keras_bert.core.folding import fold_characters

Hashes = NDArray[np.uint64]

# The places of characters in words. From U+0800 on, many scripts write no blanks between words. Each such character is
# a word, as BERT treats Chinese characters (Devlin et al. 2019). U+1E00 to U+1FFF are Latin and Greek letters.
_BETWEEN, _IN, _ALONE = 0, 1, 2
_ALPHABETS = slice(0x1E00, 0x2000)
# Unicode has no punctuation and no blanks from here on.
_END_OF_PUNCTUATION = 0x20000
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# Up to this many shingles, all permutations are computed as one table. Longer texts are processed permutation by
# permutation, which stays in the processor's cache and takes less than two thirds of the time.
_TABLE_SHINGLES = 1024
_SEED = 1


def choose_bands(threshold: float, permutations: int) -> tuple[int, int]:
    """The bands b and values per band r, b * r <= permutations, with the fewest expected errors.

    The errors are the area below 1 - (1 - s^r)^b up to the threshold (false positives) plus the area above it from
    there on (false negatives), as if all similarities were equally frequent.
    """
    from scipy.integrate import quad

    def count_errors(shape: tuple[int, int]) -> float:
        bands, rows = shape
        false_positives, _ = quad(lambda s: 1 - (1 - s**rows) ** bands, 0, threshold)
        false_negatives, _ = quad(lambda s: (1 - s**rows) ** bands, threshold, 1)
        return float(false_positives + false_negatives)

    shapes = ((bands, rows) for bands in range(1, permutations + 1) for rows in range(1, permutations // bands + 1))
    return min(shapes, key=count_errors)


class Signer:
    """Computes the band hashes of texts; for the threshold of their similarity see `choose_bands`."""

    def __init__(self, threshold: float, permutations: int, shingle: int) -> None:
        self.bands, self.rows = choose_bands(threshold, permutations)
        self._shingle = shingle
        # h -> a * h mod 2^32 with odd a: Dietzfelbinger et al. 1997, multiply-shift.
        rng = np.random.default_rng(_SEED)
        self._factors = rng.integers(0, 2**32, (self.bands * self.rows, 1), dtype=np.uint32) | np.uint32(1)
        # A band's hash is a sum of products (multilinear hashing). Every band has different factors, so that hashes of
        # different bands do not collide.
        self._mix = rng.integers(0, 2**64, (self.bands, self.rows), dtype=np.uint64) | np.uint64(1)

    def sign(self, text: str) -> Hashes:
        """The band hashes (bands,) of a text; two texts that share the hash of one band are near duplicates."""
        shingles = make_shingles(text, self._shingle)
        if len(shingles) <= _TABLE_SHINGLES:
            least = (self._factors * shingles).min(axis=1, initial=np.iinfo(np.uint32).max)
        else:
            least = np.empty(len(self._factors), np.uint32)
            products = np.empty_like(shingles)
            for place, factor in enumerate(self._factors[:, 0]):
                least[place] = np.multiply(shingles, factor, out=products).min()
        mixed = (self._mix * least.reshape(self.bands, self.rows)).sum(axis=1)
        return mixed ^ (mixed >> np.uint64(32))


def make_shingles(text: str, words: int) -> NDArray[np.uint32]:
    """Hashes (shingles,) of all runs of `words` consecutive words; a shorter text is one run."""
    return shingle_words(hash_words(text), words)


def shingle_words(ids: Hashes, words: int) -> NDArray[np.uint32]:
    """Hashes (shingles,) of all runs of `words` consecutive words, given the hashes of these (words,)."""
    size = max(1, min(words, len(ids)))
    count = max(0, len(ids) - size + 1)
    runs = ids[:count].copy()
    for place in range(1, size):
        runs = runs * _FACTOR + ids[place : count + place]
    runs = (runs ^ (runs >> np.uint64(29))) * _FACTOR
    return (runs >> np.uint64(32)).astype(np.uint32)


def hash_words(text: str) -> Hashes:
    """Hashes (words,) of the words of a text, which punctuation and white space part, see `fold_characters`.

    The characters of a word are the coefficients of a polynomial modulo 2^64 (Rabin and Karp 1987). Prefix sums over
    the whole text hash all words at once; a loop in Python takes three times as long.
    """
    text = f" {fold_characters(text)} "
    data: NDArray[np.uint8] | NDArray[np.uint32]
    if text.isascii():
        data = np.frombuffer(text.encode(), np.uint8)
    else:
        data = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    places = _places().take(data)
    is_in = places == _IN
    is_edge = ~(is_in[1:] & is_in[:-1])
    is_word = places != _BETWEEN
    starts = np.flatnonzero(is_word[1:] & is_edge) + 1
    ends = np.flatnonzero(is_word[:-1] & is_edge) + 1
    powers, inverses = _powers(1 << len(data).bit_length())
    sums = np.cumsum(powers[: len(data)] * data, dtype=np.uint64)
    return (sums[ends - 1] - sums[starts - 1]) * inverses[starts]


@functools.cache
def _places() -> NDArray[np.uint8]:
    """The place in words (code points,) of each character."""
    places = np.full(0x110000, _ALONE, np.uint8)
    places[:0x800] = places[_ALPHABETS] = _IN
    for code in range(_END_OF_PUNCTUATION):
        category = unicodedata.category(chr(code))
        if category[0] in "PZ" or category == "Cc":
            places[code] = _BETWEEN
    places[:128] = _BETWEEN
    places[list(map(ord, string.ascii_letters + string.digits + "_"))] = _IN
    return places


@functools.lru_cache(maxsize=4)
def _powers(count: int) -> tuple[Hashes, Hashes]:
    """The powers of the polynomial's base and of its inverse modulo 2^64."""
    base = int(_FACTOR)
    bases = (np.full(count, number, np.uint64) for number in (base, pow(base, -1, 1 << 64)))
    powers, inverses = (np.multiply.accumulate(factors) for factors in bases)
    return powers, inverses


def find_repeats(hashes: Hashes, keys: Hashes, places: Hashes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Documents whose hash another document has: positions (repeats,), and for each the first document with that hash.

    `hashes` is (documents, numbers of a hash). `keys` are the order of the documents, and `places` that of those with
    the same key (documents,).
    """
    order = np.lexsort((places, keys, *hashes.T))
    ordered = hashes[order]
    is_first = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])[: len(ordered)]
    firsts = order[np.flatnonzero(is_first)[np.cumsum(is_first) - 1]]
    # Two bands of a document may have the same hash.
    repeats = (keys[order] != keys[firsts]) | (places[order] != places[firsts])
    return order[repeats], firsts[repeats]


def find_clusters(count: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Connected components: for every item the smallest item (count,) of its component.

    `pairs` are the numbers of connected items (pairs, 2).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), (count, count))
    _, labels = connected_components(links, directed=False)
    _, first = np.unique(labels, return_index=True)
    return first[labels]
