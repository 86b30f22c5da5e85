"""Vectors of another program, and compressed vectors: int8, and binary ones that are compared by Hamming distance."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from keras_bert.core.checks import as_list, check

Array = np.ndarray[Any, Any]

VectorCode = Literal["float32", "int8", "binary"]

_LARGEST_INT8 = 127


def check_vectors(owner: str, vectors: Any, texts: int, *, takes_zeros: bool = False) -> tuple[Array, Array]:
    """The vectors that were given to texts, float32 (texts with one, width), and which texts have one (texts,).

    A text without a vector has None, an empty one or only NaN. A vector may be text as JSON.

    Raises:
        ValueError: the number of vectors is not `texts`, no text has one, or a vector is not a list of finite numbers,
            has another width than the first one, or is zero.
    """
    check(owner, "vectors", len(vectors) == texts, f"be {texts}, one for each text", len(vectors))
    read, is_given = list[Array](), np.zeros(texts, bool)
    for row, vector in enumerate(vectors):
        field = f"vectors[{row}]"
        try:
            value = json.loads(vector) if isinstance(vector, str) else vector
            numbers = np.asarray(() if value is None else value, "float32")
        except (TypeError, ValueError):
            check(owner, field, False, "be a list of numbers", str(vector)[:40])
        check(owner, field, numbers.ndim == 1, "be a list of numbers", f"an array {numbers.shape}")
        if np.isnan(numbers).all():
            continue
        is_given[row] = True
        read.append(numbers)
        rule = f"be {len(read[0])} numbers, as many as the first vector has"
        check(owner, field, numbers.shape == read[0].shape, rule, numbers.shape)
        check(owner, field, bool(np.isfinite(numbers).all()), "have finite numbers", "NaN or infinity")
        rule = "be no vector of zeros, which has no direction"
        check(owner, field, takes_zeros or bool(numbers.any()), rule, "zeros")
    check(owner, "vectors", bool(read), "hold the vector of at least one text", f"none for {texts}")
    return np.stack(read), is_given


def read_vector_columns(vectors: Any) -> tuple[Any, list[str]]:
    """The column `vector` of a table, and the spaces in its `vector_space`; other vectors as they are.

    Of a table that has such columns already, `predict` writes the names with a prefix: these columns are read.
    """
    if not (isinstance(vectors, Mapping) or hasattr(vectors, "columns")):
        return vectors, []
    names = getattr(vectors, "column_names", getattr(vectors, "columns", vectors))
    column = "predicted_vector" if "predicted_vector" in names else "vector"
    check("Embedding", "vectors", column in names, "have a column 'vector' where they are a table", list(names))
    values = as_list("vector_space", vectors[f"{column}_space"]) if f"{column}_space" in names else ()
    spaces = {space.decode() if isinstance(space, bytes) else space for space in values}
    return as_list("vector", vectors[column]), sorted(space for space in spaces if isinstance(space, str))


def read_vectors(vectors: Any) -> tuple[Array, list[str]]:
    """An array (n, width), a list of vectors or a table of them, see `read_vector_columns` -> the array and its spaces.

    Raises:
        ValueError: a row has no vector, or one with NaN or infinity.
    """
    rows, spaces = read_vector_columns(vectors)
    if str(getattr(rows, "dtype", "object")) != "object":
        is_finite = np.isfinite(np.asarray(rows)).all(axis=-1)
        row, rule = int(np.argmin(is_finite)), "have finite numbers"
        check("Embedding", f"vectors[{row}]", bool(is_finite.all()), rule, "NaN or infinity")
        return rows, spaces
    array, is_given = check_vectors("Embedding", rows, len(rows), takes_zeros=True)
    row, rule = int(np.argmin(is_given)), "be a vector, as all texts are searched: leave out texts without one"
    check("Embedding", f"vectors[{row}]", bool(is_given.all()), rule, "none")
    # Lists do not say that they are `int8_codes`, whose largest number is 127.
    is_coded = np.abs(array).max() == _LARGEST_INT8 and (array == np.rint(array)).all()
    return array.astype("int8") if is_coded else array, spaces


def check_space(owner: str, space: str, others: Iterable[str]) -> None:
    """Raises ValueError if vectors are of another space than those of a model; an empty identifier is unknown."""
    rule = f"be of the model's space, {space}: embed the texts again with this model, or train it into their space"
    for other in others:
        check(owner, "vectors", not (space and other) or space == other, rule, f"vectors of the space {other}")


def encode_vectors(vectors: Array, code: VectorCode) -> Array:
    """Encodes vectors: unchanged for float32, else with `int8_codes` or `binary_codes`."""
    if code == "float32":
        return vectors
    return int8_codes(vectors) if code == "int8" else binary_codes(vectors)


def int8_codes(vectors: Array) -> Array:
    """Quantizes vectors (n, width) to int8; a vector of zeros stays zero.

    Each vector is scaled so that its largest absolute value is 127. So only rounding changes cosines.
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.round(_LARGEST_INT8 * vectors / np.maximum(largest, 1e-12)).astype("int8")


def binary_codes(vectors: Array) -> Array:
    """Binarizes vectors (n, width) to packed bits, uint8 (n, width / 8): 1 for entries above 0.

    See Yamada et al. 2021, section 3.1. The first entry is the highest bit of a byte, and the last byte is padded with
    zeros.
    """
    return np.packbits(np.asarray(vectors) > 0, axis=1)


def hamming_distances(first: Array, second: Array) -> Array:
    """Hamming distances of all pairs: uint8 (n, bytes), (m, bytes) -> int64 (n, m)."""
    rule = f"have {first.shape[1]} bytes, as the first ones"
    check("hamming_distances", "second", second.shape[1] == first.shape[1], rule, second.shape[1])
    # Row by row: all pairs at once would be n times the memory of `second`.
    return np.stack([np.bitwise_count(second ^ code).sum(axis=1, dtype="int64") for code in first])


def rescored_scores(queries: Array, codes: Array, *, candidates: int = 100) -> Array:
    """Scores (n, m) of queries (n, width) with `binary_codes` of passages (m, bytes); higher is better.

    The nearest candidates by Hamming distance are rescored by the dot product of the query with the bits as 1 and -1
    (Yamada et al. 2021, section 3.2). All other passages rank behind them by distance. Scores of different queries are
    not comparable.
    """
    distances = hamming_distances(binary_codes(queries), codes)
    width = queries.shape[1]
    signs = 2.0 * np.unpackbits(codes, axis=1, count=width) - 1.0
    # At most sqrt(width), so an offset of 4 x width ranks candidates first.
    exact = (queries / np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-12)) @ signs.T
    order = np.argsort(distances, axis=1, kind="stable")[:, :candidates]
    is_candidate = np.zeros(distances.shape, bool)
    np.put_along_axis(is_candidate, order, True, axis=1)
    return np.where(is_candidate, exact + 4.0 * width, -distances).astype("float32")
