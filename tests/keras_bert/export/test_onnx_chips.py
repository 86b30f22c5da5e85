"""Graphs for the compilers of chips, in ONNX Runtime on the processor."""

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from keras_bert.compress.quantize import QuantizationAware
from keras_bert.compress.ranges import fixed_ranges
from keras_bert.export.check import FLOAT32_TOLERANCE
from keras_bert.export.onnx_chips import export_for_chips
from keras_bert.export.runtimes import OnnxModel
from keras_bert.models.encoder import input_names
from tests.keras_bert.export.word_tasks import LENGTH, make_task, make_texts


@pytest.fixture(scope="module")
def task():
    return make_task("classification")


@pytest.fixture(scope="module")
def rows(task):
    encoded = task.tokenizer.encode(make_texts(48, 12), max_length=LENGTH)
    return {name: np.asarray(encoded[name]) for name in input_names(task.network())}


def test_normalizations_have_their_scale_behind_them(task, rows, tmp_path):
    file = export_for_chips(task, tmp_path)
    assert file.name == "float16.onnx"
    graph = onnx.load(file).graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    normalizations = [node for node in graph.node if node.op_type == "LayerNormalization"]
    assert normalizations
    assert all(len(node.input) == 2 and (values[node.input[1]] == 1).all() for node in normalizations)
    answers = OnnxModel(file, LENGTH).predict_on_batch(rows)
    np.testing.assert_allclose(answers, np.asarray(task.network()(rows)), atol=FLOAT32_TOLERANCE)


def test_activations_have_16_bits_on_the_learned_ranges_and_kernels_eight(task, rows, tmp_path):
    ranges = QuantizationAware(task.network(), [rows]).finish()
    file = export_for_chips(task, tmp_path, ranges)
    assert file.name == "int8.onnx"
    graph = onnx.load(file).graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    types = Counter(values[node.input[2]].dtype.name for node in graph.node if node.op_type == "QuantizeLinear")
    assert types.keys() == {"uint16"}
    assert any(value.dtype == np.int8 and value.ndim == 2 for value in values.values())
    network = task.network()
    answers = OnnxModel(file, LENGTH).predict_on_batch(rows)
    exact = np.asarray(network(rows))
    with fixed_ranges(network, ranges):
        rounded = np.asarray(network(rows))
    # Tables alone have eight bits.
    assert 0 < np.abs(answers - exact).max() < np.abs(rounded - exact).max() / 2
