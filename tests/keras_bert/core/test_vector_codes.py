import numpy as np
import pytest

from keras_bert.core.vector_codes import binary_codes, hamming_distances, int8_codes, rescored_scores
from keras_bert.tasks.embedding import cosine_similarity

CHANCE = np.random.default_rng(0)
# Width 12: the last byte is half empty.
VECTORS = CHANCE.normal(size=(40, 12)).astype("float32")
QUERIES = VECTORS[:9] + 0.3 * CHANCE.normal(size=(9, 12)).astype("float32")


def test_int8_keeps_cosines_whatever_the_lengths_of_vectors():
    lengths = CHANCE.uniform(1e-3, 1e3, size=(40, 1))
    codes = int8_codes(VECTORS * lengths)
    assert codes.dtype == np.int8
    assert np.abs(codes.astype(int)).max(axis=1).tolist() == [127] * 40
    expected = cosine_similarity(QUERIES, VECTORS)
    np.testing.assert_allclose(cosine_similarity(QUERIES, codes.astype("float32")), expected, atol=0.01)
    assert int8_codes(np.zeros((1, 3))).tolist() == [[0, 0, 0]]


def test_distances_are_those_of_the_signs():
    first, second = binary_codes(QUERIES), binary_codes(VECTORS)
    assert second.shape == (40, 2)
    expected = [[int(((query > 0) != (vector > 0)).sum()) for vector in VECTORS] for query in QUERIES]
    assert hamming_distances(first, second).tolist() == expected
    with pytest.raises(ValueError, match=r"hamming_distances.second must have 2 bytes, as the first ones, got 1"):
        hamming_distances(first, second[:, :1])


def test_candidates_are_rescored_and_stay_in_front():
    codes = binary_codes(VECTORS)
    scores = rescored_scores(QUERIES, codes, candidates=7)
    signs = np.where(VECTORS > 0, 1.0, -1.0)
    for query, row, distances in zip(QUERIES, scores, hamming_distances(binary_codes(QUERIES), codes), strict=True):
        nearest = np.argsort(distances, kind="stable")
        best = sorted(nearest[:7], key=lambda place: -(signs[place] @ query))
        assert np.argsort(-row, kind="stable").tolist() == [*best, *nearest[7:]]
    everything = rescored_scores(QUERIES, codes, candidates=100)
    np.testing.assert_array_equal(np.argsort(-everything, axis=1), np.argsort(-(QUERIES @ signs.T), axis=1))
