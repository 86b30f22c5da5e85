"""The figures of one file; what asks whole files stands in `tests/pipeline/bench`."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from components.scoring.file_bench import BenchRequest, look_inside, percentiles


def test_percentiles_are_numpys():
    times = np.random.default_rng(0).exponential(size=37)
    expected = {f"p{share}": pytest.approx(np.percentile(times, share)) for share in (50, 90, 99)}
    assert percentiles(times.tolist()) == expected


def test_other_inputs_are_refused(tmp_path):
    given = helper.make_tensor_value_info("words", TensorProto.INT32, ["batch", "length"])
    declared = helper.make_tensor_value_info("found", TensorProto.FLOAT, ["batch", "length"])
    node = helper.make_node("Cast", ["words"], ["found"], to=TensorProto.FLOAT)
    graph = helper.make_graph([node], "graph", [given], [declared])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match=r"model\.onnx must take BERT's inputs alone, got 'words'"):
        look_inside(BenchRequest(str(tmp_path / "model.onnx"), 16, 5, (16,), 1, 10))
