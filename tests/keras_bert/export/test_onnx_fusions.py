"""What is rewritten says the same, and what only looks like it is left."""

import collections

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto

from keras_bert.export.check import FLOAT32_TOLERANCE
from keras_bert.export.onnx import export_onnx
from keras_bert.export.onnx_fusions import NORMALIZATION_OPSET, fuse_operations
from keras_bert.export.onnx_graphs import make_canonical
from keras_bert.export.onnx_numbers import convert_to_static_int8
from keras_bert.export.runtimes import OnnxModel
from keras_bert.interop.hugging_face import from_hugging_face
from keras_bert.tasks.classification import build_classifier
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.drawing import WIDTH, Drawing
from tests.keras_bert.interop.family_checkpoints import make_checkpoint
from tests.samples import long_but


def kinds_of(path):
    return collections.Counter(node.op_type for node in onnx.load(path).graph.node)


@pytest.fixture(scope="module")
def model():
    """A model none of whose numbers is 0 or 1, which TensorFlow would leave out."""
    model, chance = tiny.build(num_layers=2, activation="gelu_erf"), np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(np.asarray(weight) + chance.normal(scale=0.1, size=weight.shape))
    return model


def test_a_model_has_the_operations_of_its_layers_and_the_runtime_knows_gelu(model, tmp_path):
    export_onnx(model, tmp_path / "model.onnx")
    kinds = kinds_of(tmp_path / "model.onnx")
    assert kinds["LayerNormalization"] == 1 + 2 * 2
    assert not kinds.keys() & {"ReduceMean", "Reciprocal", "Sqrt", "Neg", "Less"}
    # Of each GELU two, and one that turns the mask; none for queries.
    assert kinds["Mul"] == 2 * 2 + 1
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(tmp_path / "model.onnx", options, providers=["CPUExecutionProvider"])
    kinds = kinds_of(tmp_path / "optimized.onnx")
    assert kinds["Gelu"] == 2
    assert "Erf" not in kinds


def test_an_older_operator_set_has_no_normalization(model, tmp_path):
    export_onnx(model, tmp_path / "model.onnx", opset=NORMALIZATION_OPSET - 1)
    kinds = kinds_of(tmp_path / "model.onnx")
    assert "LayerNormalization" not in kinds
    assert kinds["Reciprocal"] == 1 + 2 * 2


def test_a_row_with_one_large_value(model, tmp_path):
    gamma = next(weight for weight in model.weights if weight.path.endswith("block_0/feed_forward_norm/gamma"))
    before = np.asarray(gamma)
    gamma.assign(np.where(np.arange(len(before)) == 3, 195.0, before))
    try:
        export_onnx(model, tmp_path / "model.onnx")
        rows = tiny.make_rows(16)[0]
        actual, expected = OnnxModel(tmp_path / "model.onnx", tiny.LENGTH)(**rows), np.asarray(model(rows))
    finally:
        gamma.assign(before)
    np.testing.assert_allclose(actual, expected, atol=FLOAT32_TOLERANCE, rtol=1e-4)


def fused(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    fuse_operations(copy.graph, NORMALIZATION_OPSET)
    make_canonical(copy.graph)
    return copy


@pytest.fixture
def rows():
    return np.random.default_rng(1).normal(2, 3, (WIDTH, WIDTH)).astype("float32")


def draw_normalization(drawing, offset, fault=None):
    """One as Keras and tf2onnx write it, but for a fault."""
    axes = drawing.constant("axes", np.array([0 if fault == "axis" else -1]))
    other = drawing.node("Abs", "given")
    mean = drawing.node("ReduceMean", other if fault == "mean" else "given", axes, keepdims=int(fault != "keepdims"))
    difference = drawing.node("Sub", "given", mean)
    squares = drawing.node("Mul", difference, other if fault == "squares" else difference)
    variance = drawing.node("Add", drawing.node("ReduceMean", squares, axes), drawing.constant("tiny", np.float32(0.1)))
    root = drawing.node("Reciprocal", drawing.node("Sqrt", drawing.node("Abs", variance) if fault else variance))
    scale = np.arange(1, WIDTH + 1, dtype="float32")
    factor = drawing.node("Mul", root, drawing.constant("scale", scale[:, None] if fault == "scale" else scale))
    product = drawing.node("Mul", other if fault == "rows" else "given", factor)
    values = np.arange(WIDTH, dtype="float32")
    values = drawing.constant("offset", values[:, None] if fault == "offset" else values)
    if offset == "minuend":
        shift = drawing.node("Sub", values, drawing.node("Mul", mean, factor))
    else:
        shift = drawing.node("Mul", mean if fault == "sign" else drawing.node("Neg", mean), factor)
        shift = shift if offset is None else drawing.node("Add", shift, values)
    return drawing.node("Add", product, shift)


@pytest.mark.parametrize("offset", [None, "added", "minuend"])
def test_a_normalization_is_one_operation(rows, offset):
    drawing = Drawing()
    expected, actual, kinds = drawing.answers(fused, [draw_normalization(drawing, offset)], rows)
    assert kinds == {"LayerNormalization": 1}
    np.testing.assert_allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize("fault", ["axis", "keepdims", "mean", "squares", "rows", "sign", "scale", "offset"])
def test_what_is_none_is_left(rows, fault):
    drawing = Drawing()
    expected, actual, kinds = drawing.answers(fused, [draw_normalization(drawing, "added", fault)], rows)
    assert "LayerNormalization" not in kinds
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(("length", "bound", "direct"), [(6, 0, True), (5, 0, False), (6, -2, False)])
def test_ids_below_zero_are_counted_by_the_lookup_itself(length, bound, direct):
    drawing = Drawing(TensorProto.INT32, ("rows",))
    table = drawing.constant("table", np.arange(12, dtype="float32").reshape(6, 2))
    below = drawing.node(
        "Less", drawing.node("Cast", "given", to=TensorProto.FLOAT), drawing.constant("bound", np.float32(bound))
    )
    wrapped = drawing.node("Add", "given", drawing.constant("length", np.int32(length)))
    moved = drawing.node("Mul", drawing.node("Cast", below, to=TensorProto.INT32), wrapped)
    rest = drawing.node("Cast", drawing.node("Not", below), to=TensorProto.INT32)
    ids = drawing.node("Add", moved, drawing.node("Mul", "given", rest))
    given = np.array([-4, -1, 2, 3] if bound else [-1, 0, -4, 3], "int32")
    expected, actual, kinds = drawing.answers(fused, [drawing.node("Gather", table, ids)], given)
    assert (kinds == {"Gather": 1}) == direct
    np.testing.assert_array_equal(actual, expected)


def draw_queries(drawing, *read_twice, splits=True):
    kernel = drawing.constant("kernel", np.random.default_rng(2).normal(size=(WIDTH, 4)).astype("float32"))
    product = drawing.node("MatMul", "given", kernel)
    added = drawing.node("Add", product, drawing.constant("bias", np.float32([3] * 4)))
    shape = drawing.constant("shape", np.array([-1, 2]))
    reshaped = drawing.node("Reshape", added, shape) if splits else added
    outputs = [drawing.node("Mul", reshaped, drawing.constant("factor", np.float32(0.25)))]
    named = {"reshaped": reshaped, "added": added, "product": product, "kernel": kernel}
    return outputs + [drawing.node("Neg", named[name]) for name in read_twice]


@pytest.mark.parametrize("splits", [True, False])
def test_a_factor_of_queries_goes_into_their_weights(rows, splits):
    drawing = Drawing()
    expected, actual, kinds = drawing.answers(fused, draw_queries(drawing, splits=splits), rows)
    assert kinds == {"MatMul": 1, "Add": 1} | ({"Reshape": 1} if splits else {})
    np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize("read_twice", ["reshaped", "added", "product", "kernel"])
def test_a_factor_stays_where_others_read_what_it_multiplies(rows, read_twice):
    drawing = Drawing()
    expected, actual, kinds = drawing.answers(fused, draw_queries(drawing, read_twice), rows)
    assert kinds["Mul"] == 1
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_factor_stays_where_the_graph_answers_with_what_it_multiplies(rows):
    drawing = Drawing()
    outputs = draw_queries(drawing)
    reshaped = next(node for node in drawing.graph.node if node.op_type == "Reshape").output[0]
    expected, actual, kinds = drawing.answers(fused, [*outputs, reshaped], rows)
    assert kinds["Mul"] == 1
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("family", long_but(["albert"], ("albert", "deberta-v2")))
def test_what_layers_share_is_there_once(family, tmp_path, monkeypatch):
    make_checkpoint(tmp_path / family, family, ("cow", "hen", "fox", "oak"))
    base = from_hugging_face(tmp_path / family)
    sizes = []
    for name in ("fused", "plain"):
        export_onnx(build_classifier(base.encoder, 2, pooling="mean"), tmp_path / name)
        sizes.append(sum(np.prod(tensor.dims, dtype=int) for tensor in onnx.load(tmp_path / name).graph.initializer))
        monkeypatch.setattr("keras_bert.export.onnx.fuse_operations", lambda graph, opset: None)
    assert sizes[0] <= sizes[1]


def on_grid(drawing, given, scale, zero=128):
    """A value on a grid of uint8, as fake quantizations are written."""
    number = len(drawing.graph.node)
    grid = drawing.constant(f"scale_{number}", np.float32(scale)), drawing.constant(f"zero_{number}", np.uint8(zero))
    return drawing.node("DequantizeLinear", drawing.node("QuantizeLinear", given, *grid), *grid)


def without_zero(drawing, given, scale):
    grid = drawing.constant("scale_alone", np.float32(scale))
    return drawing.node("DequantizeLinear", drawing.node("QuantizeLinear", given, grid), grid)


def test_tables_are_read_on_their_grids():
    drawing = Drawing(TensorProto.INT32, ("rows",))
    table = drawing.constant("table", np.linspace(-1, 1, 12, dtype="float32").reshape(6, 2))
    outputs = [on_grid(drawing, drawing.node("Gather", table, "given"), scale) for scale in (0.01, 0.1)]
    expected, actual, kinds = drawing.answers(convert_to_static_int8, outputs, np.array([0, 3, 5], "int32"))
    assert kinds == {"Gather": 2, "DequantizeLinear": 2}
    np.testing.assert_array_equal(actual, expected)
    drawing = Drawing(TensorProto.INT32, ("rows",))
    table = drawing.constant("table", np.linspace(-1, 1, 12, dtype="float32").reshape(6, 2))
    first = drawing.node("Slice", table, drawing.constant("start", np.array([1], "int32")), "given")
    outputs = [on_grid(drawing, first, 0.01)]
    expected, actual, kinds = drawing.answers(convert_to_static_int8, outputs, np.array([5], "int32"))
    assert kinds == {"Slice": 1, "DequantizeLinear": 1}
    assert actual[0].shape == (4, 2)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("reader", ["nobody", "two", "the graph", "a grid without a zero"])
def test_a_table_that_others_read_stays_float(reader):
    drawing = Drawing(TensorProto.INT32, ("rows",))
    rows = drawing.node(
        "Gather", drawing.constant("table", np.linspace(-1, 1, 12, dtype="float32").reshape(6, 2)), "given"
    )
    outputs = {
        "nobody": lambda: [rows],
        "two": lambda: [on_grid(drawing, rows, 0.01), on_grid(drawing, rows, 0.1)],
        "the graph": lambda: [on_grid(drawing, rows, 0.01), rows],
        "a grid without a zero": lambda: [without_zero(drawing, rows, 0.1)],
    }[reader]()
    expected, actual, _ = drawing.answers(convert_to_static_int8, outputs, np.array([0, 3, 5], "int32"))
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("off", "kernels"), [(0.0, 1), (0.4, 0)])
def test_a_kernel_that_two_products_read_is_there_once_if_it_lies_on_a_grid(off, kernels):
    drawing, chance = Drawing(), np.random.default_rng(0)
    # Of two neighbours no two are large: x86 processors without VNNI add the products of two in int16, which saturates.
    steps = chance.integers(-60, 61, (WIDTH, 4)).astype("float32")
    steps[0] = 127
    steps[1] = off
    kernel = drawing.constant("kernel", steps * np.float32(0.02))
    outputs = [drawing.node("MatMul", on_grid(drawing, "given", scale), kernel) for scale in (0.02, 0.05)]
    rows = chance.normal(size=(5, WIDTH)).astype("float32")
    expected, actual, kinds = drawing.answers(convert_to_static_int8, outputs, rows)
    assert kinds["DequantizeLinear"] == 2 + kernels
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
