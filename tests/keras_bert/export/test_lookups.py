"""Lookups of plain ids: the same bits from fewer operations, and ids that must stay as they are."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_bert.export.lite_passes import simplify_lookups
from keras_bert.export.rules.lite_graphs import read_graphs
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.sharing import read_model, write_model
from keras_bert.export.tflite import export_tflite
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.test_products import answer

TABLE = np.random.default_rng(0).normal(size=(7, 4)).astype("float32")
IDS = np.array([[3, 0, 6]], np.int32)


def convert(function, shape=(1, 3)):
    serve = tf.function(function, input_signature=[tf.TensorSpec(shape, tf.int32)], autograph=False)
    return tf.lite.TFLiteConverter.from_concrete_functions([serve.get_concrete_function()]).convert()


def simplified(content):
    model = read_model(content)
    simplify_lookups(model)
    return write_model(model)


def kinds_of(content, folder):
    (folder / "model.tflite").write_bytes(content)
    return [operation.kind for operation in read_graphs(folder / "model.tflite")[0].operations]


def test_ids_are_read_without_wrap_as_a_list(tmp_path):
    content = convert(lambda ids: ops.take(tf.constant(TABLE), ids, axis=0) * 2.0)
    made = simplified(content)
    assert {"LESS", "ADD", "SELECT"} < set(kinds_of(content, tmp_path))
    assert kinds_of(made, tmp_path) == ["RESHAPE", "GATHER", "RESHAPE", "MUL"]
    np.testing.assert_array_equal(answer(made, IDS), TABLE[IDS] * 2)
    np.testing.assert_array_equal(answer(made, IDS), answer(content, IDS))


def test_a_list_of_ids_needs_no_reshape(tmp_path):
    made = simplified(convert(lambda ids: tf.gather(tf.constant(TABLE), ids), (3,)))
    assert kinds_of(made, tmp_path) == ["GATHER"]


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
    content = convert(lambda ids: tf.gather(tf.constant(TABLE), function(ids)))
    assert set(kinds_of(simplified(content), tmp_path)) & {"SELECT", "SELECT_V2"}
    ids = np.array([[1, 2, 5]], np.int32)
    np.testing.assert_array_equal(answer(simplified(content), ids), answer(content, ids))


def test_lookups_along_another_axis_stay(tmp_path):
    content = convert(lambda ids: tf.gather(tf.constant(TABLE), ids % 4, axis=1))
    assert simplified(content).count(b"/ids_") == 0
    np.testing.assert_array_equal(answer(simplified(content), IDS), answer(content, IDS))


def test_operations_on_ids_come_first_and_what_nobody_reads_goes(tmp_path):
    def function(ids):
        weights = tf.cast(ids, tf.float32)[:, :, None] * 3.0
        return weights * ops.take(tf.constant(TABLE), ids + 1, axis=0) + weights

    content = convert(function)
    made = simplified(content)
    kinds = kinds_of(made, tmp_path)
    assert kinds[:2] == ["ADD", "RESHAPE"], "the sum that makes the ids, then the list"
    graph = read_graphs(tmp_path / "model.tflite")[0]
    used = {number for operation in graph.operations for number in (*operation.inputs, *operation.outputs)}
    assert used == set(range(len(graph.tensors)))
    ids = np.array([[0, 5, 2]], np.int32)
    np.testing.assert_array_equal(answer(made, ids), answer(content, ids))


def test_twice_is_once(tmp_path):
    made = simplified(convert(lambda ids: ops.take(tf.constant(TABLE), ids, axis=0)))
    again = simplified(made)
    assert kinds_of(again, tmp_path) == kinds_of(made, tmp_path)
    np.testing.assert_array_equal(answer(again, IDS), answer(made, IDS))


def test_a_file_refuses_negative_ids(tmp_path):
    export_tflite(tiny.build(), tmp_path / "model.tflite", (8, 16))
    model, row = TFLiteModel(tmp_path / "model.tflite"), {n: v[:1, :8] for n, v in tiny.make_rows(1)[0].items()}
    model(**row)
    row["token_ids"] = np.where(np.arange(8) == 3, -1, row["token_ids"]).astype("int32")
    with pytest.raises(RuntimeError, match="index out of bounds"):
        model(**row)
