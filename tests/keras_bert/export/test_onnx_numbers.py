"""Integers in the place of constants, in graphs that are drawn; test_transformers_js.py has those of models."""

import numpy as np
import pytest
from onnx import TensorProto

from keras_bert.export.onnx_numbers import convert_to_static_int8
from tests.keras_bert.export.drawing import WIDTH, Drawing


def on_grid(drawing, given, scale, zero=128):
    """A value on a grid of uint8, as fake quantizations are written."""
    number = len(drawing.graph.node)
    grid = drawing.constant(f"scale_{number}", np.float32(scale)), drawing.constant(f"zero_{number}", np.uint8(zero))
    return drawing.node("DequantizeLinear", drawing.node("QuantizeLinear", given, *grid), *grid)


def without_zero(drawing, given, scale):
    grid = drawing.constant("scale_alone", np.float32(scale))
    return drawing.node("DequantizeLinear", drawing.node("QuantizeLinear", given, grid), grid)


def test_one_table_is_read_on_two_grids():
    drawing = Drawing(TensorProto.INT32, ("rows",))
    table = drawing.constant("table", np.linspace(-1, 1, 12, dtype="float32").reshape(6, 2))
    outputs = [on_grid(drawing, drawing.node("Gather", table, "given"), scale) for scale in (0.01, 0.1)]
    expected, actual, kinds = drawing.answers(convert_to_static_int8, outputs, np.array([0, 3, 5], "int32"))
    assert kinds == {"Gather": 2, "DequantizeLinear": 2}
    np.testing.assert_array_equal(actual, expected)


def test_the_first_rows_of_a_table_are_integers():
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
    steps = chance.integers(-126, 127, (WIDTH, 4)).astype("float32")
    steps[0] = 127
    steps[1] += off
    kernel = drawing.constant("kernel", steps * np.float32(0.02))
    outputs = [drawing.node("MatMul", on_grid(drawing, "given", scale), kernel) for scale in (0.02, 0.05)]
    rows = chance.normal(size=(5, WIDTH)).astype("float32")
    expected, actual, kinds = drawing.answers(convert_to_static_int8, outputs, rows)
    assert kinds["DequantizeLinear"] == 2 + kernels
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
