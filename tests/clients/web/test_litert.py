"""The `.tflite` files in LiteRT.js, in a browser."""

import numpy as np
import pytest

from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.tflite import export_tflite
from keras_bert.models.encoder import input_names
from tests.clients.web.node import ask
from tests.keras_bert.export.word_tasks import LENGTH, make_task, make_texts

pytestmark = pytest.mark.web


@pytest.fixture(scope="module")
def classifier():
    return make_task("classification")


@pytest.fixture(scope="module")
def rows(classifier):
    encoded = classifier.tokenizer.encode(make_texts(64, 12), max_length=LENGTH)
    return {name: np.asarray(encoded[name]) for name in input_names(classifier.network())}


def ask_browser(file, rows, length):
    """Logits of each row, in the signature of a length."""
    count = len(rows["token_ids"])
    examples = [{name: values[row, :length].tolist() for name, values in rows.items()} for row in range(count)]
    given = {"signature": f"serve_{length}", "rows": examples}
    return np.array([answer["logits"] for answer in ask("ask_litert.mjs", file, given=given)])


def test_floats_in_every_signature(classifier, rows, tmp_path):
    export_tflite(classifier.network(), tmp_path / "model.tflite", (8, LENGTH))
    for length in (8, LENGTH):
        cut = {name: values[:, :length] for name, values in rows.items()}
        expected = classifier.network().predict(cut, verbose=0)
        np.testing.assert_allclose(ask_browser(tmp_path / "model.tflite", rows, length), expected, atol=1e-4, rtol=0)


def test_integers(rows, tmp_path):
    network = make_task("classification").network()
    ranges = QuantizationAware(network, [rows]).finish()
    export_tflite(network, tmp_path / "model.tflite", (LENGTH,), ranges)
    actual, expected = (
        ask_browser(tmp_path / "model.tflite", rows, LENGTH),
        TFLiteModel(tmp_path / "model.tflite")(**rows),
    )
    # Sums in another order move a value by a grid step here and there.
    np.testing.assert_allclose(actual, expected, atol=0.01, rtol=0)
    assert np.isclose(actual, expected, atol=1e-4, rtol=0).mean() > 0.9
