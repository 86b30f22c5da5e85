"""Rows of a task that an engine answers."""

import numpy as np
import pytest

from keras_bert.accelerators.recorded import RecordedModel
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.tflite import export_tflite
from tests.keras_bert.compress import tiny


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "model.tflite"
    export_tflite(tiny.build(), path, (8, 16))
    return path


def test_answers_of_an_engine_go_to_the_rows_that_were_noted(file):
    rows, _ = tiny.make_rows(12)
    model = RecordedModel(file)
    expected = TFLiteModel(file).predict_on_batch(rows)
    np.testing.assert_array_equal(model.predict_on_batch(rows), expected)
    noted = model.rows()
    assert sum(len(inputs["token_ids"]) for inputs in noted.values()) == len(np.unique(rows["token_ids"], axis=0))
    assert all(inputs["token_ids"].shape[1] == length for length, inputs in noted.items())
    # An engine whose answers tell the tokens of the row.
    sums = {
        length: {"logits": np.stack([values["token_ids"].sum(1), values["padding_mask"].sum(1)], 1)}
        for length, values in noted.items()
    }
    model.replay(sums)
    half = {name: values[6:][::-1] for name, values in rows.items()}
    answers = model.predict_on_batch(half)
    tokens = (half["token_ids"] * half["padding_mask"]).sum(1)
    np.testing.assert_array_equal(answers, np.stack([tokens, half["padding_mask"].sum(1)], 1))


def test_models_do_not_share_rows(file):
    first, second = RecordedModel(file), RecordedModel(file)
    first.predict_on_batch(tiny.make_rows(4)[0])
    assert first.rows()
    assert second.rows() == {}
