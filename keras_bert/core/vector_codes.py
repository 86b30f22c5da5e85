"""Vectors in fewer bytes: int8 numbers, and single bits that are compared by their Hamming distance."""

from typing import Any, Literal

import numpy as np

from keras_bert.core.checks import check

Array = np.ndarray[Any, Any]

VectorCode = Literal["float32", "int8", "binary"]

_LARGEST_INT8 = 127


def encode_vectors(vectors: Array, code: VectorCode) -> Array:
    """Vectors in a code: as they are (float32), `int8_codes` or `binary_codes`."""
    if code == "float32":
        return vectors
    return int8_codes(vectors) if code == "int8" else binary_codes(vectors)


def int8_codes(vectors: Array) -> Array:
    """Vectors (n, width) as int8, a quarter of the bytes of float32; a vector of zeros stays one.

    Each is scaled so that its largest number in size is 127, so that only rounding changes cosines.
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.round(_LARGEST_INT8 * vectors / np.maximum(largest, 1e-12)).astype("int8")


def binary_codes(vectors: Array) -> Array:
    """Vectors (n, width) as bits, uint8 (n, width / 8): 1 for a number above 0 (Yamada et al. 2021, section 3.1).

    The first number is the highest bit of a byte; the last byte ends with zeros where 8 does not divide the width.
    """
    return np.packbits(np.asarray(vectors) > 0, axis=1)


def hamming_distances(first: Array, second: Array) -> Array:
    """The numbers of different bits of all pairs: uint8 (n, bytes), (m, bytes) -> int64 (n, m)."""
    rule = f"have {first.shape[1]} bytes, as the first ones"
    check("hamming_distances", "second", second.shape[1] == first.shape[1], rule, second.shape[1])
    # Row by row: all pairs at once would be n times the memory of `second`.
    return np.stack([np.bitwise_count(second ^ code).sum(axis=1, dtype="int64") for code in first])


def rescored_scores(queries: Array, codes: Array, *, candidates: int = 100) -> Array:
    """Scores (n, m) of queries (n, width) with `binary_codes` of passages (m, bytes); larger for a better passage.

    The candidates nearest by Hamming distance are scored anew by the dot product of the query with the bits as 1 and -1
    (Yamada et al. 2021, section 3.2), all others stay behind them in their order. Scores of different queries cannot be
    compared.

    Raises:
        ValueError: the codes are not those of vectors as wide as the queries.
    """
    distances = hamming_distances(binary_codes(queries), codes)
    width = queries.shape[1]
    signs = 2.0 * np.unpackbits(codes, axis=1, count=width) - 1.0
    norms = np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-12)
    # At most sqrt(width), so that adding more than twice that keeps all others behind.
    exact = (queries / norms) @ signs.T
    order = np.argsort(distances, axis=1, kind="stable")[:, :candidates]
    is_candidate = np.zeros(distances.shape, bool)
    np.put_along_axis(is_candidate, order, True, axis=1)
    return np.where(is_candidate, exact + 4.0 * width, -distances).astype("float32")
