"""Numbers far from 0 in files of coarse numbers."""

import keras
import numpy as np
import pytest

from keras_bert.core.folders import WEB_HALF_FILE
from keras_bert.export.rules.lite_graphs import count_operations
from keras_bert.export.runtimes import open_file
from keras_bert.export.transformers_js import export_transformers_js
from keras_bert.models.encoder import input_names
from keras_bert.tasks.regression import Regression
from tests.keras_bert.export.grids import answers_of, export_on_grids
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer

TEXTS = ["good", "bad", "very good", "very bad", "a film", "a very good film"]


def make_task(mean, deviation):
    keras.utils.set_random_seed(0)
    encoder = make_encoder(num_layers=1, initializer_range=0.5)
    task = Regression.build(encoder, make_tokenizer(), max_length=16, mean=mean, standard_deviation=deviation)
    task.model.get_layer("regressor").kernel.assign_add(np.full((16, 1), 0.2, "float32"))
    return task


@pytest.mark.parametrize(
    ("recipe", "mean", "deviation"),
    [("float16", 100_000.0, 3.0), ("float16", 0.0, 1e7), ("static_wi8_ai8", 2000.0, 10.0)],
)
def test_the_last_layer_stays_float(recipe, mean, deviation, tmp_path):
    task = make_task(mean, deviation)
    x, file = task.encode(TEXTS), tmp_path / "model.tflite"
    rows = {name: x[name] for name in input_names(task.model)}
    rounding = export_on_grids(task.model, recipe, file, rows=rows, batches=[rows], float_layers=task.float_layers)
    answers, expected = answers_of(file, task.model, rounding, rows)
    assert np.ptp(expected) > 0.1 * deviation
    np.testing.assert_allclose(answers, expected, atol=0.1 * deviation)  # a head in integers: 0.4
    floats = count_operations(file)["FULLY_CONNECTED float32"]
    assert floats >= 1 if recipe == "float16" else floats == 1


def test_the_scale_stays_float_in_a_browsers_float16(tmp_path):
    task = make_task(100_000.0, 3.0)
    x = task.encode(TEXTS)
    export_transformers_js(task, tmp_path)
    expected = np.asarray(task.model({name: x[name] for name in input_names(task.model)}))
    np.testing.assert_allclose(open_file(tmp_path / WEB_HALF_FILE, 16).predict_on_batch(x), expected, atol=0.05)
