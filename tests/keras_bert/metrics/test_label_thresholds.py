import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import f1_score, precision_recall_curve, precision_score

from keras_bert.metrics.label_thresholds import (
    find_best_threshold,
    find_precise_threshold,
    label_probabilities,
    with_absence,
)


def rows(seed, count=60, steps=12):
    """Probabilities with ties, and truths that are likelier where they are large."""
    chance = np.random.default_rng(seed)
    shares = np.round(chance.uniform(size=count) * steps) / steps
    return shares, chance.uniform(size=count) < shares**2


@pytest.mark.parametrize("seed", range(8))
def test_the_threshold_has_the_best_f1_of_scikit_learns_curve(seed):
    shares, truth = rows(seed)
    precision, recall, _ = precision_recall_curve(truth, shares)
    best = np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12))
    threshold = find_best_threshold(shares, truth)
    assert f1_score(truth, shares >= threshold) == pytest.approx(best, abs=1e-9)
    assert np.abs(shares - threshold).min() > 0.01, "rounding elsewhere moves no probability over it"


@pytest.mark.parametrize("seed", range(8))
def test_the_threshold_of_a_precision_is_the_lowest_that_reaches_it(seed):
    shares, truth = rows(seed)
    reached = [cut for cut in np.unique(shares) if precision_score(truth, shares >= cut) >= 0.8]
    threshold = find_precise_threshold(shares, truth, 0.8)
    if not reached:
        assert threshold is None
        return
    np.testing.assert_array_equal(shares >= threshold, shares >= min(reached))


@pytest.mark.parametrize("higher", [0.5, np.nextafter(0.5, 1), 1.0, np.nextafter(0, 1)])
def test_neighbouring_probabilities_are_separated(higher):
    shares, truth = np.array([higher, np.nextafter(higher, 0)]), np.array([True, False])
    for threshold in (find_best_threshold(shares, truth), find_precise_threshold(shares, truth, 1.0)):
        assert (shares >= threshold).tolist() == [True, False]


def test_labels_that_no_row_or_every_row_has():
    shares = np.array([0.25, 0.75])
    assert find_best_threshold(shares, np.array([False, False])) == 0.5
    assert find_best_threshold(shares, np.array([True, True])) == 0.125
    assert find_precise_threshold(shares, np.array([False, False]), 0.5) is None
    assert find_precise_threshold(shares, np.array([True, True]), 1.0) == 0.125


def test_probabilities_are_sigmoids_with_a_temperature():
    logits = np.array([[0.0, 3.0], [-800.0, 800.0]])
    np.testing.assert_allclose(label_probabilities(logits), expit(logits), atol=1e-12)
    np.testing.assert_allclose(label_probabilities(logits, 2.0), expit(logits / 2), atol=1e-12)
    assert with_absence(logits).shape == (2, 2, 2)
