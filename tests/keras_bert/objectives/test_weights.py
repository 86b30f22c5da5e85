import keras
import numpy as np
import pytest

from keras_bert.core.losses import IGNORED
from keras_bert.objectives.base import add_up, averages, call_model, means
from keras_bert.objectives.class_weights import (
    balanced_class_weights,
    balanced_positive_weights,
    row_weights,
    token_weights,
)
from keras_bert.objectives.pretraining import PretrainingObjective
from keras_bert.objectives.tasks import ClassificationObjective, RegressionObjective

PARTS = [{"loss": (6.0, 2.0), "masked": (1.0, 4.0)}, {"loss": (np.float32(2.0), np.float32(6.0)), "masked": (0, 0)}]


def test_the_identity_of_an_objective_is_its_class_and_settings():
    assert ClassificationObjective((0.5, 2.0)).identity() == {
        "class": "ClassificationObjective",
        "class_weights": (0.5, 2.0),
    }
    assert RegressionObjective(2.5).identity() == {"class": "RegressionObjective", "standard_deviation": 2.5}
    assert PretrainingObjective(False).identity() == {
        "class": "PretrainingObjective",
        "next_sentence": False,
        "span_boundary": False,
    }


def test_a_model_is_called_with_its_inputs_and_means_are_over_all_weights():
    inputs = {name: keras.Input((2,), name=name) for name in ("one", "other")}
    model = keras.Model(inputs, keras.layers.Dropout(0.5)(inputs["one"] - inputs["other"]))
    batch = {"label": np.zeros(99), "other": np.ones((99, 2), "float32"), "one": np.full((99, 2), 4, "float32")}
    np.testing.assert_array_equal(call_model(model, batch, training=False), np.full((99, 2), 3))
    assert set(np.unique(call_model(model, batch, training=True))) == {0, 6}
    assert add_up(PARTS) == {"loss": (8.0, 8.0), "masked": (1.0, 4.0)}
    assert means(PARTS) == {"loss": 1.0, "masked": 0.25}
    assert means(PARTS[::-1]) == means(PARTS)
    assert averages([{"loss": (3.0, 2.0), "masked": (0.0, 0.0)}]) == {"loss": 1.5}
    assert averages([]) == {}


def test_a_task_objective_measures_what_it_ran():
    class Doubled(RegressionObjective):
        def run(self, model, batch, training):
            return 2 * model(batch)

    batch = {"value": np.array([1.0, 5.0], "float32")}
    sums = Doubled()(lambda batch: np.array([[1.0], [2.0]], "float32"), batch, training=False)
    assert [float(part) for part in sums["loss"]] == pytest.approx([1 + 1, 2])


def test_balanced_weights_are_those_of_scikit_learn_and_counts_hold_a_row():
    # The example in the documentation of `sklearn.utils.class_weight.compute_class_weight`, and one by hand.
    assert balanced_class_weights([2, 4]) == [1.5, 0.75]
    assert balanced_class_weights([7, 2, 1]) == pytest.approx([10 / 21, 10 / 6, 10 / 3])
    assert balanced_class_weights([3, 0, 1]) == [4 / 6, 1.0, 2.0], "a class that does not occur"
    assert balanced_class_weights([5, 5]) == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"balanced_class_weights\.counts must hold a row, got \[0, 0\]"):
        balanced_class_weights([0, 0])
    with pytest.raises(ValueError, match=r"balanced_class_weights\.counts must not be negative, got \[3, -1\]"):
        balanced_class_weights([3, -1])


def test_balanced_weights_of_several_labels():
    assert balanced_positive_weights([1, 5, 0, 10], 10) == [9.0, 1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match=r"counts must be between 0 and the 2 rows, got \[3\]"):
        balanced_positive_weights([3], 2)


def test_the_weights_of_rows_and_tokens():
    labels = np.array([[1, IGNORED, 0]])
    np.testing.assert_array_equal(row_weights(labels[:, [0, 2]], [0.5, 2.0]), [[2.0, 0.5]])
    np.testing.assert_array_equal(row_weights(labels), [[1, 1, 1]])
    np.testing.assert_array_equal(token_weights(labels, [0.5, 2.0]), [[2.0, 0.0, 0.5]])
    np.testing.assert_array_equal(token_weights(labels), [[1, 0, 1]])
