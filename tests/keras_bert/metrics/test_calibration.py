"""Temperature, calibration error and threshold, against what can be told by hand."""

import numpy as np
import pytest

from keras_bert.metrics.calibration import (
    calibration_error,
    find_temperature,
    find_threshold,
    likelihood_loss,
    probabilities,
    reliability,
    threshold_scores,
)


def sampled(logits, seed=0):
    """Labels that are as likely as the logits say."""
    chance = np.random.default_rng(seed).random(len(logits))
    return (probabilities(logits).cumsum(axis=1) < chance[:, None]).sum(axis=1)


@pytest.mark.parametrize("margin", [0.5, 2.0, 5.0])
def test_of_two_labels_with_one_margin_the_temperature_is_known(margin):
    """With 3 of 4 right, the best probability is 3/4: margin / T = log 3."""
    logits = np.array([[margin, 0.0]] * 8, np.float32)
    truth = np.array([0, 0, 0, 1] * 2)
    temperature = find_temperature(logits, truth)
    assert temperature == pytest.approx(margin / np.log(3), rel=1e-9)
    assert probabilities(logits, temperature)[0, 0] == pytest.approx(0.75, rel=1e-9)
    assert likelihood_loss(logits, truth, temperature) == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25))


def test_logits_that_are_too_large_by_a_factor_are_divided_by_it():
    logits = np.random.default_rng(1).normal(scale=2, size=(500, 4))
    truth = sampled(logits)
    temperature = find_temperature(logits, truth)
    assert find_temperature(3 * logits, truth) == pytest.approx(3 * temperature, rel=1e-6)
    near = [likelihood_loss(logits, truth, temperature * factor) for factor in (0.99, 1.0, 1.01)]
    assert near[1] < min(near[0], near[2])


def test_calibrated_sets_and_temperatures_of_one():
    """Every pair of labels stands there as often as the logits say it does."""
    logits = np.log(np.repeat([[0.9, 0.1], [0.6, 0.4]], [10, 5], axis=0))
    truth = np.array([0] * 9 + [1] + [0] * 3 + [1] * 2)
    assert find_temperature(logits, truth) == pytest.approx(1.0, rel=1e-9)
    shares = probabilities(logits)
    assert calibration_error(shares.max(axis=1), shares.argmax(axis=1) == truth) == pytest.approx(0.0, abs=1e-12)
    logits = np.array([[1.0, 2.0, 4.0]], np.float32)
    expected = np.exp([1.0, 2.0, 4.0]) / np.exp([1.0, 2.0, 4.0]).sum()
    np.testing.assert_allclose(probabilities(logits)[0], expected, rtol=1e-12)
    halved = np.exp([0.5, 1.0, 2.0]) / np.exp([0.5, 1.0, 2.0]).sum()
    np.testing.assert_allclose(probabilities(logits, 2.0)[0], halved, rtol=1e-12)


@pytest.mark.parametrize("truth", [[0, 0, 0], [1, 1, 1], [0, 1, 0]])
def test_where_the_likelihood_has_no_peak_there_is_no_temperature(truth):
    logits = np.array([[2.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    logits = logits if truth != [0, 1, 0] else np.zeros((3, 2))
    assert find_temperature(logits, np.array(truth)) is None


def test_the_error_is_that_of_its_formula_and_bins_are_closed_above():
    random = np.random.default_rng(2)
    confidences = np.append(random.uniform(0.3, 1.0, 200), [1 / 15, 10 / 15, 1.0])
    right = random.random(len(confidences)) < 0.7
    expected = 0.0
    for number in range(15):
        held = (confidences > number / 15) & (confidences <= (number + 1) / 15)
        if held.any():
            expected += held.mean() * abs(right[held].mean() - confidences[held].mean())
    assert calibration_error(confidences, right) == pytest.approx(expected, rel=1e-12)
    assert calibration_error(np.ones(4), np.zeros(4, bool)) == 1.0
    bins = reliability(np.array([1 / 15, 0.1, 0.12, 1.0]), np.array([True, True, False, False]))
    assert len(bins) == 15
    assert bins[0] == (1, 1 / 15, 1.0)
    assert bins[1] == (2, pytest.approx(0.11), 0.5)
    assert bins[2:14] == [None] * 12
    assert bins[14] == (1, 1.0, 0.0)


def test_the_smallest_threshold_that_reaches_a_share():
    confidences = np.array([0.9, 0.5, 0.8, 0.6, 0.7])
    right = np.array([True, True, True, True, False])
    # From the most confident on: 1, 1, 2/3, 3/4, 4/5 are right.
    assert find_threshold(confidences, right, 0.8) == 0.5
    assert find_threshold(confidences, right, 0.81) == 0.8
    assert threshold_scores(0.8, confidences, right) == (0.4, 1.0)
    assert threshold_scores(0.5, confidences, right) == (1.0, 0.8)
    assert threshold_scores(0.95, confidences, right) == (0.0, None)
    confidences, right = np.array([0.9, 0.7, 0.7, 0.7]), np.array([True, True, False, False])
    assert find_threshold(confidences, right, 0.6) == 0.9, "two of the three at 0.7 are wrong"
    confidences, right = np.array([0.9, 0.8, 0.7]), np.array([False, True, True])
    assert find_threshold(confidences, right, 0.9) is None
