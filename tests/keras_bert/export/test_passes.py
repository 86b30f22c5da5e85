"""Passes over graphs: the same numbers from other operations."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_bert.export.lite_passes import keep_sliced_axes, simplify_lookups
from keras_bert.export.products import replace_with_products
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.tflite import export_tflite
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.lite_functions import answer, convert, graph_of, kinds_of, rewritten


def test_products_give_the_same_numbers(tmp_path):
    content = convert(lambda x: tf.exp(-x) + tf.square(x) + tf.square(-x + 1.0), (2, 3))
    given = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    made = replace_with_products(content)
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    kinds = kinds_of(made, tmp_path)
    assert "MUL" in kinds
    assert not {"NEG", "SQUARE"} & set(kinds)


def test_a_file_without_them_stays_as_it_is():
    content = convert(lambda x: x + 1.0, (2, 3))
    assert replace_with_products(content) == content


@pytest.mark.parametrize(
    ("function", "products"),
    [
        (lambda x: tf.math.reduce_variance(x, axis=-1, keepdims=True) + x, 1),
        (lambda x: tf.reduce_sum(tf.square(x), axis=2), 1),
        (lambda x: tf.reduce_mean(tf.square(x), -1) - tf.reduce_sum(tf.math.squared_difference(x, 2.0), -1), 2),
        # Along another axis, along two, and where somebody else reads the squares.
        (lambda x: tf.reduce_sum(tf.square(x), axis=1), 0),
        (lambda x: tf.reduce_mean(tf.square(x), axis=(1, 2)), 0),
        (lambda x: tf.reduce_sum(tf.square(x), axis=-1, keepdims=True) + tf.square(x), 0),
    ],
)
def test_sums_of_squares_are_products_of_rows_with_themselves(function, products, tmp_path):
    content = convert(function, (2, 3, 5))
    given = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
    made = replace_with_products(content)
    np.testing.assert_allclose(answer(made, given), answer(content, given), rtol=1e-5, atol=1e-6)
    kinds = kinds_of(made, tmp_path)
    assert kinds.count("BATCH_MATMUL") == products
    assert not {"SQUARE", "SQUARED_DIFFERENCE"} & set(kinds)


def slices_of(content, folder):
    graph = graph_of(content, folder)
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
    made = rewritten(content, keep_sliced_axes)
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    assert answer(made, given).shape == np.exp(function(given)).shape
    assert slices_of(made, tmp_path) == slices


def test_slices_of_ids_stay(tmp_path):
    content = convert(lambda x: x[:, 0] * 2, (2, 5), tf.int32)
    assert slices_of(rewritten(content, keep_sliced_axes), tmp_path) == [(2, True)]


def test_integers_keep_their_grid(tmp_path):
    """A slice of int8 numbers lies on the grid of its source."""

    def function(x):
        x = tf.quantization.fake_quant_with_min_max_args(x, -4.0, 4.0, narrow_range=True)
        return tf.quantization.fake_quant_with_min_max_args(x[:, 0], -4.0, 4.0, narrow_range=True)

    content = convert(function, (2, 5, 3), optimizations=[tf.lite.Optimize.DEFAULT])
    given = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
    made = rewritten(content, keep_sliced_axes)
    assert slices_of(content, tmp_path) == [(3, True)]
    assert slices_of(made, tmp_path) == [(3, False)]
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    graph = graph_of(made, tmp_path)
    (part,) = (operation for operation in graph.operations if operation.kind == "STRIDED_SLICE")
    source, target = graph.tensors[part.inputs[0]], graph.tensors[part.outputs[0]]
    assert (source.type, target.type) == ("int8", "int8")
    assert source.step == target.step


TABLE = np.random.default_rng(0).normal(size=(7, 4)).astype("float32")
IDS = np.array([[3, 0, 6]], np.int32)


def convert_ids(function, shape=(1, 3)):
    return convert(function, shape, tf.int32)


def simplified(content):
    return rewritten(content, simplify_lookups)


def test_ids_are_read_without_wrap_as_a_list(tmp_path):
    content = convert_ids(lambda ids: ops.take(tf.constant(TABLE), ids, axis=0) * 2.0)
    made = simplified(content)
    assert {"LESS", "ADD", "SELECT"} < set(kinds_of(content, tmp_path))
    assert kinds_of(made, tmp_path) == ["RESHAPE", "GATHER", "RESHAPE", "MUL"]
    np.testing.assert_array_equal(answer(made, IDS), TABLE[IDS] * 2)
    np.testing.assert_array_equal(answer(made, IDS), answer(content, IDS))


def test_a_list_of_ids_needs_no_reshape_and_twice_is_once(tmp_path):
    made = simplified(convert_ids(lambda ids: tf.gather(tf.constant(TABLE), ids), (3,)))
    assert kinds_of(made, tmp_path) == ["GATHER"]
    made = simplified(convert_ids(lambda ids: ops.take(tf.constant(TABLE), ids, axis=0)))
    again = simplified(made)
    assert kinds_of(again, tmp_path) == kinds_of(made, tmp_path)
    np.testing.assert_array_equal(answer(again, IDS), answer(made, IDS))


@pytest.mark.parametrize(
    "function",
    [
        # Another bound, another length, another sum, and a choice between other ids.
        lambda ids: tf.where(ids < 1, ids + 7, ids),
        lambda ids: tf.where(ids < 0, ids + 6, ids),
        lambda ids: tf.where(ids < 0, ids * 7, ids),
        lambda ids: tf.where(ids < 0, ids + 7, ids + 1),
        lambda ids: tf.where(ids < 0, ids, ids + 1),
    ],
)
def test_other_choices_stay(function, tmp_path):
    content = convert_ids(lambda ids: tf.gather(tf.constant(TABLE), function(ids)))
    assert set(kinds_of(simplified(content), tmp_path)) & {"SELECT", "SELECT_V2"}
    ids = np.array([[1, 2, 5]], np.int32)
    np.testing.assert_array_equal(answer(simplified(content), ids), answer(content, ids))


def test_lookups_along_another_axis_stay(tmp_path):
    content = convert_ids(lambda ids: tf.gather(tf.constant(TABLE), ids % 4, axis=1))
    assert simplified(content).count(b"/ids_") == 0
    np.testing.assert_array_equal(answer(simplified(content), IDS), answer(content, IDS))


def test_operations_on_ids_come_first_and_what_nobody_reads_goes(tmp_path):
    def function(ids):
        weights = tf.cast(ids, tf.float32)[:, :, None] * 3.0
        return weights * ops.take(tf.constant(TABLE), ids + 1, axis=0) + weights

    content = convert_ids(function)
    made = simplified(content)
    assert kinds_of(made, tmp_path)[:2] == ["ADD", "RESHAPE"], "the sum that makes the ids, then the list"
    graph = graph_of(made, tmp_path)
    used = {number for operation in graph.operations for number in (*operation.inputs, *operation.outputs)}
    assert used == set(range(len(graph.tensors)))
    ids = np.array([[0, 5, 2]], np.int32)
    np.testing.assert_array_equal(answer(made, ids), answer(content, ids))


def test_a_file_refuses_negative_ids(tmp_path):
    export_tflite(tiny.build(), tmp_path / "model.tflite", (8, 16))
    model, row = TFLiteModel(tmp_path / "model.tflite"), {n: v[:1, :8] for n, v in tiny.make_rows(1)[0].items()}
    model(**row)
    row["token_ids"] = np.where(np.arange(8) == 3, -1, row["token_ids"]).astype("int32")
    with pytest.raises(RuntimeError, match="index out of bounds"):
        model(**row)
