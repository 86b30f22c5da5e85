import keras
import numpy as np
import pytest

from keras_bert.objectives.base import add_up, averages, call_model, means
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


def test_a_model_is_called_with_those_entries_of_a_batch_that_are_its_inputs():
    inputs = {name: keras.Input((2,), name=name) for name in ("one", "other")}
    model = keras.Model(inputs, keras.layers.Dropout(0.5)(inputs["one"] - inputs["other"]))
    batch = {"label": np.zeros(99), "other": np.ones((99, 2), "float32"), "one": np.full((99, 2), 4, "float32")}
    np.testing.assert_array_equal(call_model(model, batch, training=False), np.full((99, 2), 3))
    assert set(np.unique(call_model(model, batch, training=True))) == {0, 6}


def test_means_are_over_all_weights():
    assert add_up(PARTS) == {"loss": (8.0, 8.0), "masked": (1.0, 4.0)}
    assert means(PARTS) == {"loss": 1.0, "masked": 0.25}
    assert means(PARTS[::-1]) == means(PARTS)


def test_a_metric_without_any_weight_is_left_out():
    assert averages([{"loss": (3.0, 2.0), "masked": (0.0, 0.0)}]) == {"loss": 1.5}
    assert averages([]) == {}


def test_a_task_objective_measures_what_it_ran():
    class Doubled(RegressionObjective):
        def run(self, model, batch, training):
            return 2 * model(batch)

    batch = {"value": np.array([1.0, 5.0], "float32")}
    sums = Doubled()(lambda batch: np.array([[1.0], [2.0]], "float32"), batch, training=False)
    assert [float(part) for part in sums["loss"]] == pytest.approx([1 + 1, 2])
