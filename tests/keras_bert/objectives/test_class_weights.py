import numpy as np
import pytest

from keras_bert.core.losses import IGNORED
from keras_bert.objectives.class_weights import balanced_class_weights, row_weights, token_weights
from keras_bert.objectives.tasks import ClassificationObjective, TokenClassificationObjective


def test_balanced_weights_are_those_of_scikit_learn():
    # The example in the documentation of `sklearn.utils.class_weight.compute_class_weight`, and one by hand.
    assert balanced_class_weights([2, 4]) == [1.5, 0.75]
    assert balanced_class_weights([7, 2, 1]) == pytest.approx([10 / 21, 10 / 6, 10 / 3])


def test_a_class_that_does_not_occur_changes_nothing_for_the_others():
    assert balanced_class_weights([3, 0, 1]) == [4 / 6, 1.0, 2.0]


def test_equal_classes_weigh_one():
    assert balanced_class_weights([5, 5]) == [1.0, 1.0]


def test_counts_must_hold_a_row_and_not_be_negative():
    with pytest.raises(ValueError, match=r"balanced_class_weights\.counts must hold a row, got \[0, 0\]"):
        balanced_class_weights([0, 0])
    with pytest.raises(ValueError, match=r"balanced_class_weights\.counts must not be negative, got \[3, -1\]"):
        balanced_class_weights([3, -1])


def test_the_weights_of_rows_and_tokens():
    labels = np.array([[1, IGNORED, 0]])
    np.testing.assert_array_equal(row_weights(labels[:, [0, 2]], [0.5, 2.0]), [[2.0, 0.5]])
    np.testing.assert_array_equal(row_weights(labels), [[1, 1, 1]])
    np.testing.assert_array_equal(token_weights(labels, [0.5, 2.0]), [[2.0, 0.0, 0.5]])
    np.testing.assert_array_equal(token_weights(labels), [[1, 0, 1]])


@pytest.mark.parametrize("weights", [(1.0, 0.0), (1.0, -1.0), (1.0, float("nan")), (float("inf"), 1.0)])
@pytest.mark.parametrize("objective", [ClassificationObjective, TokenClassificationObjective])
def test_weights_must_be_positive_and_finite(objective, weights):
    with pytest.raises(ValueError, match=rf"{objective.__name__}.class_weights must be positive and finite, got "):
        objective(weights)
