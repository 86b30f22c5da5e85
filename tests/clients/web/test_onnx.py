"""The `.onnx` files in ONNX Runtime for the web, which is compiled to WebAssembly, and in that for Python."""

import numpy as np
import onnxruntime
import pytest

from keras_bert.core.folders import WEB_FILE, WEB_HALF_FILE, WEB_INT8_FILE
from keras_bert.export.check import FLOAT32_TOLERANCE, parity_tolerance
from keras_bert.export.onnx import export_onnx
from keras_bert.export.runtimes import INPUTS
from keras_bert.export.transformers_js import export_transformers_js
from keras_bert.models.encoder import input_names
from tests.clients.web.node import ask
from tests.keras_bert.export.word_tasks import LENGTH, make_task, make_texts

pytestmark = pytest.mark.web


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("classifier")


@pytest.fixture(scope="module")
def classifier(folder):
    task = make_task("classification")
    export_onnx(task.network(), folder / "model.onnx")
    export_transformers_js(task, folder)
    return task


@pytest.fixture(scope="module")
def rows(classifier):
    encoded = classifier.tokenizer.encode(make_texts(64, 12), max_length=LENGTH)
    return {name: np.asarray(encoded[name]) for name in input_names(classifier.network())}


@pytest.fixture(scope="module")
def expected(classifier, rows):
    return classifier.network().predict(rows, verbose=0)


def ask_web(file, rows, kind):
    """Logits of the web's runtime."""
    given = {name: {"type": kind, "rows": values.tolist()} for name, values in rows.items()}
    answer = ask("ask_onnx_web.mjs", file, given=given)["logits"]
    return np.reshape(answer["values"], answer["dims"])


def ask_python(file, rows, kind):
    """Logits of Python's, asked as anybody does."""
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return session.run(["logits"], {name: values.astype(kind) for name, values in rows.items()})[0]


@pytest.mark.parametrize("ask_runtime", [ask_web, ask_python])
def test_the_file_of_onnx_runtime(classifier, folder, rows, expected, ask_runtime):
    logits = ask_runtime(folder / "model.onnx", rows, "int32")
    np.testing.assert_allclose(logits, expected, atol=FLOAT32_TOLERANCE, rtol=0)


@pytest.mark.parametrize("ask_runtime", [ask_web, ask_python])
def test_the_files_of_transformers_js(classifier, folder, rows, expected, ask_runtime):
    theirs = {INPUTS[name]: values for name, values in rows.items()}
    half = parity_tolerance(expected, rows["padding_mask"], half=True)
    for name, tolerance in ((WEB_FILE, FLOAT32_TOLERANCE), (WEB_HALF_FILE, half)):
        logits = ask_runtime(folder / name, theirs, "int64")
        np.testing.assert_allclose(logits, expected, atol=tolerance, rtol=0, err_msg=name)


def test_integers_are_the_same_on_every_processor(folder, rows, classifier):
    theirs = {INPUTS[name]: values for name, values in rows.items()}
    web, python = (ask_runtime(folder / WEB_INT8_FILE, theirs, "int64") for ask_runtime in (ask_web, ask_python))
    np.testing.assert_allclose(web, python, atol=0.02, rtol=0)
