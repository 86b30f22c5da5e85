import numpy as np
import pytest
from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.losses import correct, cross_entropy, weighted_sums
from keras_bert.core.row_limits import limit_batch_size
from keras_bert.core.target_scale import TargetScale
from keras_bert.core.vector_codes import binary_codes, hamming_distances, int8_codes, rescored_scores
from keras_bert.tasks.embedding import cosine_similarity

LOGITS = np.random.default_rng(0).normal(scale=3, size=(2, 4, 5)).astype("float32")
LABELS = np.array([[0, 4, 2, 2], [1, 1, 3, 0]], "int32")


def expected_cross_entropy(logits):
    shifted = logits.astype("float64") - logits.max(axis=-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_probabilities, LABELS[..., None], -1)[..., 0]


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_cross_entropy(scale):
    result = cross_entropy(scale * LOGITS, LABELS)
    np.testing.assert_allclose(result, expected_cross_entropy(scale * LOGITS), rtol=1e-5, atol=1e-5)


def test_cross_entropy_of_half_precision_logits_is_summed_in_float32():
    logits = ops.cast(LOGITS, "bfloat16")
    result = cross_entropy(logits, LABELS)
    assert result.dtype.name == "float32"
    np.testing.assert_allclose(result, expected_cross_entropy(np.array(ops.cast(logits, "float32"))), atol=1e-5)


def test_hits_and_that_parts_add_up_to_the_whole():
    np.testing.assert_array_equal(correct(LOGITS, LABELS), (LOGITS.argmax(-1) == LABELS).astype("float32"))
    np.testing.assert_array_equal(correct(LOGITS, LABELS.astype("int64")), correct(LOGITS, LABELS))
    values, weights = np.arange(6, dtype="float32"), np.array([1, 0, 1, 1, 0, 0.5], "float32")
    total, weight = weighted_sums(values, weights)
    assert (float(total), float(weight)) == (7.5, 3.5)
    parts = [weighted_sums(values[part], weights[part]) for part in (slice(0, 1), slice(1, 6))]
    assert float(sum(part[0] for part in parts)) == 7.5
    assert (float(total), float(weight)) == pytest.approx((7.5, 3.5))


def test_the_error_names_owner_field_rule_and_value_of_whole_numbers_too():
    check("owner", "field", True, "be at least 1", 10**400)
    with pytest.raises(ValueError, match=r"^Masking\.rate must be between 0 and 1, got '7'$"):
        check("Masking", "rate", False, "be between 0 and 1", "7")


@pytest.mark.parametrize(
    ("rows", "length", "expected"),
    [(64, 0, 64), (64, 512, 64), (64, 513, 63), (64, 4096, 8), (64, 8192, 4), (2, 8192, 1), (32, 1024, 16)],
)
def test_no_more_tokens_than_usual(rows, length, expected):
    assert limit_batch_size(rows, length) == expected


@pytest.mark.parametrize(
    ("targets", "scale"),
    [
        ([3400.0, 7000.0], (5200.0, 1800.0)),
        ([2.5], (2.5, 1.0)),
        ([7, 7, 7], (7.0, 1.0)),
        ([1e20, 1e20], (1e20, 1.0)),
        ([0.1] * 60, (0.1, 1.0)),
    ],
)
def test_mean_and_standard_deviation(targets, scale):
    assert TargetScale.of(targets) == pytest.approx(scale)


CHANCE = np.random.default_rng(0)
# Width 12: the last byte is half empty.
VECTORS = CHANCE.normal(size=(40, 12)).astype("float32")
QUERIES = VECTORS[:9] + 0.3 * CHANCE.normal(size=(9, 12)).astype("float32")


def test_codes_keep_cosines_and_the_distances_of_the_signs():
    lengths = CHANCE.uniform(1e-3, 1e3, size=(40, 1))
    codes = int8_codes(VECTORS * lengths)
    assert codes.dtype == np.int8
    assert np.abs(codes.astype(int)).max(axis=1).tolist() == [127] * 40
    expected = cosine_similarity(QUERIES, VECTORS)
    np.testing.assert_allclose(cosine_similarity(QUERIES, codes.astype("float32")), expected, atol=0.01)
    assert int8_codes(np.zeros((1, 3))).tolist() == [[0, 0, 0]]
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
