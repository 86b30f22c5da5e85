"""Slices that keep their axes give the same bits."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.export.lite_passes import keep_sliced_axes
from keras_bert.export.rules.lite_graphs import read_graphs
from keras_bert.export.sharing import read_model, write_model
from tests.keras_bert.export.test_products import answer, convert


def rewritten(content):
    model = read_model(content)
    keep_sliced_axes(model)
    return write_model(model)


def slices_of(content, folder):
    (folder / "model.tflite").write_bytes(content)
    graph = read_graphs(folder / "model.tflite")[0]
    return [
        (len(graph.tensors[operation.inputs[0]].shape), bool(operation.options.get("shrinkAxisMask")))
        for operation in graph.operations
        if operation.kind == "STRIDED_SLICE"
    ]


@pytest.mark.parametrize(
    ("function", "shape", "slices"),
    [
        (lambda x: x[:, 0], (2, 5, 3), [(3, False)]),
        (lambda x: x[:, -1], (2, 5, 3), [(3, False)]),
        (lambda x: x[1, 1:-1, 2], (2, 5, 3), [(3, False)]),
        (lambda x: x[1, :3], (2, 5, 3, 2), [(4, False)]),
        (lambda x: x[:, :2], (4, 5), [(3, False)]),
        (lambda x: x[3], (4, 5), [(3, False)]),
        # Of the whole tensor: a reshape.
        (lambda x: x[:, 0], (2, 1, 3), []),
        (lambda x: x[0, :, 0], (1, 4, 1), []),
        # They keep their axes already, take every second row, or have another number of axes.
        (lambda x: x[:, 1:3], (2, 5, 3), [(3, False)]),
        (lambda x: x[0, ::2], (2, 5, 3), [(3, True)]),
        (lambda x: x[::2], (5,), [(1, False)]),
    ],
)
def test_slices_give_the_same_bits(function, shape, slices, tmp_path):
    content = convert(lambda x: tf.exp(function(x)), shape)
    given = np.random.default_rng(0).normal(size=shape).astype("float32")
    made = rewritten(content)
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    assert answer(made, given).shape == np.exp(function(given)).shape
    assert slices_of(made, tmp_path) == slices


def test_slices_of_ids_stay(tmp_path):
    serve = tf.function(lambda x: x[:, 0] * 2, input_signature=[tf.TensorSpec((2, 5), tf.int32)], autograph=False)
    content = tf.lite.TFLiteConverter.from_concrete_functions([serve.get_concrete_function()]).convert()
    assert slices_of(rewritten(content), tmp_path) == [(2, True)]


def test_integers_keep_their_grid(tmp_path):
    """A slice of int8 numbers lies on the grid of its source."""

    def function(x):
        x = tf.quantization.fake_quant_with_min_max_args(x, -4.0, 4.0, narrow_range=True)
        return tf.quantization.fake_quant_with_min_max_args(x[:, 0], -4.0, 4.0, narrow_range=True)

    serve = tf.function(function, input_signature=[tf.TensorSpec((2, 5, 3), tf.float32)], autograph=False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([serve.get_concrete_function()])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    content = converter.convert()
    given = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
    made = rewritten(content)
    assert slices_of(content, tmp_path) == [(3, True)]
    assert slices_of(made, tmp_path) == [(3, False)]
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    (tmp_path / "made.tflite").write_bytes(made)
    graph = read_graphs(tmp_path / "made.tflite")[0]
    (part,) = (operation for operation in graph.operations if operation.kind == "STRIDED_SLICE")
    source, target = graph.tensors[part.inputs[0]], graph.tensors[part.outputs[0]]
    assert (source.type, target.type) == ("int8", "int8")
    assert source.step == target.step
