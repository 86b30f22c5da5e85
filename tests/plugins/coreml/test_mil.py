"""Operations of MIL in NumPy, by hand; `test_package.py` runs whole files, with the library that writes them."""

import re
import sys

import numpy as np
import pytest

from components.dsl.errors import install_command
from plugins.coreml.mil import MilOperation, read_specification

HALF = np.float16


def run(kind, made, number=np.float32, /, **values):
    operation = MilOperation(kind, {name: name for name in values}, [("made", number, made)])
    operation.run(values)
    return values["made"]


def test_weights_are_unpacked_by_block_and_by_palette():
    data, scale = np.array([[1, -2, 3, 4], [5, 6, -7, 0]], np.int8), np.array([[0.5, 2], [1, 0.25]], np.float32)
    made = run("constexpr_blockwise_shift_scale", (2, 4), data=data, scale=scale)
    assert made.tolist() == [[0.5, -1, 6, 8], [5, 6, -1.75, 0]]
    indices, lut = np.array([[0, 1, 1], [1, 0, 0]], np.uint8), np.array([[1.5, -2], [7, 9]])[:, None, :, None]
    assert run("constexpr_lut_to_dense", (2, 3), indices=indices, lut=lut).tolist() == [[1.5, -2, -2], [9, 7, 7]]


def test_results_are_rounded_to_the_type_and_have_the_shape_of_the_file():
    tenths = np.full(2, 0.1, np.float32)
    assert run("add", (2,), HALF, x=tenths, y=tenths).tolist() == [float(HALF(0.2))] * 2
    # 300 squared exceeds float16.
    assert np.isinf(run("square", (2,), HALF, x=np.full(2, 300, np.float32))).all()
    with pytest.raises(ValueError, match=r"^made must have the shape \(3,\), got \(2,\)$"):
        run("add", (3,), x=tenths, y=tenths)


def test_names_the_package_that_reads_files(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "coremltools.proto", None)
    reason = f"model.mlmodel can only be read with the Python package coremltools: {install_command('accelerators')}"
    with pytest.raises(ValueError, match=f"{re.escape(reason)}$"):
        read_specification(tmp_path / "model.mlmodel")


def test_refuses_what_it_would_compute_otherwise():
    with pytest.raises(ValueError, match=r"^concat must have no interleave in the interpreter, got true$"):
        run("concat", (2,), values=np.ones((2, 1)), axis=0, interleave=True)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("slice_by_index", {"begin": [0, 1], "end": [1, 3]}, [[1, 2]]),
        ("slice_by_index", {"begin": [1, 0], "end": [2, 0], "end_mask": [False, True], "stride": [1, 2]}, [[4, 6]]),
        ("slice_by_index", {"begin": [1, 2], "end": [2, 4], "squeeze_mask": [True, False]}, [6, 7]),
        ("slice_by_size", {"begin": [0, 1], "size": [2, -1]}, [[1, 2, 3], [5, 6, 7]]),
        ("gather", {"indices": np.array([[1], [0]]), "axis": 0}, [[[4, 5, 6, 7]], [[0, 1, 2, 3]]]),
        ("reshape", {"shape": [0, -1, 2]}, [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]),
        ("pad", {"pad": [1, 0], "mode": "constant"}, [[0, 0, 1, 2, 3], [0, 4, 5, 6, 7]]),
        ("reduce_mean", {"axes": [-1], "keep_dims": True}, [[1.5], [5.5]]),
        ("layer_norm", {"axes": [-1], "epsilon": 0.0, "beta": np.ones(4)}, [[-0.3416, 0.5528, 1.4472, 2.3416]] * 2),
        ("matmul", {"y": np.eye(2, 4), "transpose_y": True}, [[0, 1], [4, 5]]),
        ("gelu", {"mode": "EXACT"}, [[0, 0.8413, 1.9545, 2.9959], [3.9999, 5, 6, 7]]),
    ],
)
def test_operations_compute_what_mil_says(kind, values, expected):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_allclose(run(kind, np.shape(expected), x=x, **values), expected, atol=1e-4)
