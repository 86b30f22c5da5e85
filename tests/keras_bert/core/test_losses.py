import numpy as np
import pytest
from keras import ops

from keras_bert.core.losses import correct, cross_entropy, weighted_sums

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


def test_hits():
    np.testing.assert_array_equal(correct(LOGITS, LABELS), (LOGITS.argmax(-1) == LABELS).astype("float32"))
    np.testing.assert_array_equal(correct(LOGITS, LABELS.astype("int64")), correct(LOGITS, LABELS))


def test_parts_add_up_to_the_whole():
    values, weights = np.arange(6, dtype="float32"), np.array([1, 0, 1, 1, 0, 0.5], "float32")
    total, weight = weighted_sums(values, weights)
    assert (float(total), float(weight)) == (7.5, 3.5)
    parts = [weighted_sums(values[part], weights[part]) for part in (slice(0, 1), slice(1, 6))]
    assert float(sum(part[0] for part in parts)) == 7.5
    assert (float(total), float(weight)) == pytest.approx((7.5, 3.5))
