"""The `.onnx` files by WebGPU in a Chromium, whose adapter is SwiftShader: each has the vectors of the task."""

import numpy as np
import pytest

from keras_bert.compress.quantize import QuantizationAware
from keras_bert.core.folders import WEB_FOLDER
from keras_bert.export.onnx import export_onnx
from keras_bert.export.transformers_js import export_transformers_js
from keras_bert.models.encoder import input_names
from tests.clients.web.node import ask
from tests.keras_bert.export.word_tasks import LENGTH, make_task, make_texts

pytestmark = pytest.mark.web


@pytest.fixture(scope="module")
def task():
    return make_task("embedding")


@pytest.fixture(scope="module")
def texts(task):
    """Texts that fit; of longer ones transformers.js cuts the closing separator."""
    made = make_texts(40, 10)
    return [text for text, count in zip(made, task.count_tokens(made), strict=True) if 2 < count <= LENGTH]


@pytest.fixture(scope="module")
def rows(task, texts):
    encoded = task.tokenizer.encode(texts, max_length=LENGTH)
    return {name: np.asarray(encoded[name]) for name in input_names(task.network())}


@pytest.fixture(scope="module")
def folder(task, rows, tmp_path_factory):
    """All files; kernels are on grids from here on."""
    folder = tmp_path_factory.mktemp("embedding")
    ranges = QuantizationAware(task.network(), [rows]).finish()
    export_onnx(task.network(), folder / "model.onnx")
    export_transformers_js(task, folder, ranges=ranges)
    return folder


def least_cosine(vectors, others):
    """The cosine of the row whose vectors differ most."""
    assert np.shape(vectors) == others.shape
    return (vectors * others).sum(axis=1).min()


# The int8 files differ from float32 by their rounding.
@pytest.mark.parametrize(("dtype", "cosine"), [("fp32", 1 - 1e-6), ("q8", 0.999), ("int8", 0.999)])
def test_transformers_js(folder, task, texts, dtype, cosine):
    vectors = ask("ask_webgpu.mjs", folder / WEB_FOLDER, dtype, given=texts)
    assert least_cosine(vectors, task.predict(texts)) > cosine


def test_float16_needs_an_adapter_that_has_it(folder, texts):
    with pytest.raises(AssertionError, match="does not support fp16"):
        ask("ask_webgpu.mjs", folder / WEB_FOLDER, "fp16", given=texts)


def test_onnx_runtime_for_the_web(folder, task, texts, rows):
    given = {name: values.tolist() for name, values in rows.items()}
    vectors = ask("ask_webgpu.mjs", folder / "model.onnx", given=given)
    assert least_cosine(vectors, task.predict(texts)) > 1 - 1e-6
