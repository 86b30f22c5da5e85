"""Passes over graphs: the same numbers from other operations."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from keras import ops

from keras_bert.export.lite_operands import protect_reshaped_tensors, read_integers_directly, simplify_operands
from keras_bert.export.lite_passes import simplify_lookups, simplify_slices
from keras_bert.export.products import replace_with_products
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.sharing import read_model
from keras_bert.export.tflite import export_tflite
from keras_bert.families.deberta.settings import DeBERTa
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import export_on_grids
from tests.keras_bert.export.lite_functions import answer, convert, graph_of, kinds_of, rewritten


def test_products_give_the_same_numbers(tmp_path):
    content = convert(lambda x: tf.exp(x) + tf.square(x) + tf.square(x + 1.0), (2, 3))
    given = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    made = replace_with_products(content)
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    kinds = kinds_of(made, tmp_path)
    assert "MUL" in kinds
    assert "SQUARE" not in kinds


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


def _sum_two_reshapes(values):
    first, second = tf.reshape(values, (32,)) + STEPS, tf.reshape(values, (2, 16)) - STEPS[:16]
    return tf.reshape(tf.cos(first), (4, 8)) * tf.reshape(tf.cos(second), (4, 8))


STEPS = np.arange(1, 33, dtype="float32")


@pytest.mark.parametrize(
    "change",
    [
        lambda values: tf.reshape(tf.cos(tf.reshape(values, (32,)) / STEPS), (4, 8)),
        lambda values: tf.reshape(tf.nn.softmax(tf.reshape(values, (1, 32))), (4, 8)),
        _sum_two_reshapes,
    ],
)
def test_a_tensor_that_is_read_after_its_reshape_was_changed_keeps_its_values(change):
    def function(x):
        values = tf.exp(x) * 3.0
        return change(values) - values

    given = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
    made = rewritten(convert(function, given.shape), protect_reshaped_tensors)
    np.testing.assert_allclose(answer(made, given, delegates=False), function(given), atol=1e-5)


def test_deberta_answers_alike_without_xnnpack(tmp_path):
    variant = DeBERTa(position_buckets=4, max_distance=6, convolution=3)
    model = tiny.build(variant=variant, num_segments=0, num_layers=2)
    row = {name: tiny.make_rows(1)[0][name] for name in ("token_ids", "padding_mask")}
    export_tflite(model, tmp_path / "model.tflite", [tiny.LENGTH])
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(str(tmp_path / "model.tflite"), experimental_op_resolver_type=resolver)
    (logits,) = interpreter.get_signature_runner()(**row).values()
    np.testing.assert_allclose(logits, model(row), atol=1e-5)


def slices_of(content):
    model = read_model(content)
    slices = [
        operation for operation in model.subgraphs[0].operators if hasattr(operation.builtinOptions, "shrinkAxisMask")
    ]
    shapes = [model.subgraphs[0].tensors[operation.inputs[0]].shape for operation in slices]
    return [
        (len(shape), operation.builtinOptions.shrinkAxisMask > 0)
        for shape, operation in zip(shapes, slices, strict=True)
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
def test_slices_give_the_same_bits(function, shape, slices):
    content = convert(lambda x: tf.exp(function(x)), shape)
    given = np.random.default_rng(0).normal(size=shape).astype("float32")
    made = rewritten(content, simplify_slices)
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    assert answer(made, given).shape == np.exp(function(given)).shape
    assert slices_of(made) == slices


def test_slices_of_ids_stay():
    content = convert(lambda x: x[:, 0] * 2, (2, 5), tf.int32)
    assert slices_of(rewritten(content, simplify_slices)) == [(2, True)]


# The converter says that it has no statistics of the inputs, which are integers.
@pytest.mark.filterwarnings("ignore:Statistics for quantized inputs were expected:UserWarning")
def test_integers_keep_their_grid(tmp_path):
    """A slice of int8 numbers lies on the grid of its source."""

    def function(x):
        x = tf.quantization.fake_quant_with_min_max_args(x, -4.0, 4.0, narrow_range=True)
        return tf.quantization.fake_quant_with_min_max_args(x[:, 0], -4.0, 4.0, narrow_range=True)

    content = convert(function, (2, 5, 3), optimizations=[tf.lite.Optimize.DEFAULT])
    given = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
    made = rewritten(content, simplify_slices)
    assert slices_of(content) == [(3, True)]
    assert slices_of(made) == [(3, False)]
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
    with pytest.raises(ValueError, match="index out of bounds"):
        model(**row)


ROW = np.random.default_rng(1).normal(size=(3, 4)).astype("float32")


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (lambda x: x * 2.0 + -tf.reduce_mean(x, -1, keepdims=True) * ROW, ["MEAN", "MUL", "MUL", "SUB"]),
        (lambda x: ROW - tf.exp(-x), ["MUL", "EXP", "SUB"]),
        # The negation, and its product, have another reader.
        (lambda x: tf.concat([(-x) * ROW + x, -x], -1), ["MUL", "MUL", "ADD", "CONCATENATION"]),
        (lambda x: tf.concat([(-x) * ROW + x, (-x) * ROW], -1), ["MUL", "MUL", "ADD", "CONCATENATION"]),
    ],
)
def test_negations_become_differences_and_products_with_the_same_bits(function, kinds, tmp_path):
    content = convert(function, (2, 3, 4))
    assert "NEG" in kinds_of(content, tmp_path)
    made, given = (
        rewritten(content, simplify_operands),
        np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32"),
    )
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    assert sorted(kinds_of(made, tmp_path)) == sorted(kinds)


def test_operands_get_the_axes_of_the_result(tmp_path):
    """A constant in place, a value that several operations read once, and one row of numbers not at all."""

    def function(x):
        rows = tf.exp(x[0])
        return (x + ROW) * (x - rows) + x * rows * ROW[0]

    content = convert(function, (2, 3, 4))
    made, given = (
        rewritten(content, simplify_operands),
        np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32"),
    )
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    graph = graph_of(made, tmp_path)
    operands = {
        graph.tensors[number].shape
        for operation in graph.operations
        if operation.kind in ("ADD", "SUB", "MUL")
        for number in operation.inputs
    }
    assert operands == {(2, 3, 4), (1, 3, 4), (4,)}
    assert kinds_of(made, tmp_path).count("RESHAPE") == kinds_of(content, tmp_path).count("RESHAPE") + 1


def test_a_mask_is_looked_up_and_other_integers_are_cast(tmp_path):
    path = tmp_path / "model.tflite"
    export_tflite(tiny.build(), path, (8,))
    kinds = [operation.kind for operation in graph_of(path.read_bytes(), tmp_path).operations]
    assert "CAST" not in kinds
    assert kinds.count("GATHER") == 3
    ids = convert(lambda ids: tf.cast(ids, tf.float32) * 2.0, (1, 3), tf.int32)
    assert "CAST" in kinds_of(rewritten(ids, simplify_operands), tmp_path)


def test_sums_read_rows_of_a_table_on_the_grid_of_the_table(tmp_path):
    """Between `DEQUANTIZE` and `QUANTIZE` nothing computes; the sum of another type, and what is no sum, stay."""
    path = tmp_path / "model.tflite"
    export_on_grids(tiny.build(), "static_wi8_ai8", path, (8,), tiny.make_rows(16)[0])
    graph = graph_of(path.read_bytes(), tmp_path)
    # The answer alone is unpacked.
    assert [operation.kind for operation in graph.operations].count("DEQUANTIZE") == 1
    again = rewritten(path.read_bytes(), read_integers_directly)
    assert kinds_of(again, tmp_path) == [operation.kind for operation in graph.operations]


def test_rows_of_a_table_in_float16_are_unpacked_after_the_lookup(tmp_path):
    path = tmp_path / "model.tflite"
    export_tflite(tiny.build(), path, (8,), half=True)
    graph = graph_of(path.read_bytes(), tmp_path)
    tables = [graph.tensors[operation.inputs[0]] for operation in graph.operations if operation.kind == "GATHER"]
    assert sorted(table.type for table in tables) == ["float16", "float16", "float32"]
    assert all(table.constant for table in tables)
