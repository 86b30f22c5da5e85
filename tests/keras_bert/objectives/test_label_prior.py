import numpy as np
import pytest
from scipy.special import expit, softmax

from keras_bert.objectives.class_weights import (
    balanced_class_weights,
    balanced_positive_weights,
    log_frequencies,
    log_odds,
)


def test_the_softmax_of_a_bias_has_the_frequencies():
    counts = np.array([8_700, 1_000, 300])
    bias = log_frequencies(counts.tolist())
    assert (bias.dtype, bias.shape) == ("float32", (3,))
    np.testing.assert_allclose(softmax(bias), counts / counts.sum(), rtol=2e-3)
    assert bias.sum() == pytest.approx(0, abs=1e-6)
    np.testing.assert_array_equal(log_frequencies([5, 5, 5]), [0, 0, 0])


def test_the_sigmoids_of_a_bias_are_the_shares_of_the_rows():
    bias = log_odds([100, 5_000, 9_999], rows=10_000)
    assert (bias.dtype, bias.shape) == ("float32", (3,))
    np.testing.assert_allclose(expit(bias), [0.01, 0.5, 0.9999], rtol=6e-3)


def test_a_label_of_no_row_or_of_all_rows_is_finite():
    np.testing.assert_allclose(log_odds([0, 10], rows=10), [np.log(0.5 / 10.5), np.log(10.5 / 0.5)], rtol=1e-6)
    np.testing.assert_allclose(log_frequencies([0, 10]), np.array([-0.5, 0.5]) * np.log(10.5 / 0.5), rtol=1e-6)


def test_class_weights_multiply_the_frequencies():
    np.testing.assert_allclose(softmax(log_frequencies([400, 100], [1.0, 8.0])), [1 / 3, 2 / 3], rtol=2e-3)
    np.testing.assert_allclose(expit(log_odds([200], 1_000, [12.0])), [0.75], rtol=1e-3)
    counts = [90, 9, 1]
    np.testing.assert_allclose(log_frequencies(counts, balanced_class_weights(counts)), [0, 0, 0], atol=1e-6)
    np.testing.assert_array_equal(log_odds(counts, 100, balanced_positive_weights(counts, 100)), [0, 0, 0])


def test_counts_and_weights_that_cannot_be():
    with pytest.raises(ValueError, match=r"log_frequencies\.counts must not be negative, got \[3, -1\]"):
        log_frequencies([3, -1])
    with pytest.raises(ValueError, match=r"log_odds\.counts must be at most the 2 rows, got \[3\]"):
        log_odds([3], rows=2)
    with pytest.raises(ValueError, match=r"log_odds\.class_weights must be one for each of 2 labels, got \[1.0\]"):
        log_odds([1, 1], rows=2, class_weights=[1.0])
    with pytest.raises(ValueError, match=r"log_frequencies\.class_weights must be positive and finite, got \[0.0\]"):
        log_frequencies([1], class_weights=[0.0])
