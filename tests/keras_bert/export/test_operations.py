"""Where the time of an `.onnx` file goes."""

import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from keras_bert.export.attachments import attach_entries
from keras_bert.export.delegation import profile_onnx
from keras_bert.export.lint import LintError, lint_file
from keras_bert.export.rules.expected import Expected


def test_each_kind_of_node_is_counted_and_timed(tmp_path):
    given = helper.make_tensor_value_info("token_ids", TensorProto.INT32, ["batch", "length"])
    declared = helper.make_tensor_value_info("found", TensorProto.FLOAT, ["batch", "length"])
    nodes = [
        helper.make_node("Cast", ["token_ids"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Softmax", ["numbers"], ["once"]),
        helper.make_node("Softmax", ["once"], ["found"]),
    ]
    graph = helper.make_graph(nodes, "graph", [given], [declared])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, tmp_path / "model.onnx")
    row = {"token_ids": np.zeros((1, 512), np.int64), "padding_mask": np.ones((1, 512), np.int64)}
    operations = profile_onnx(tmp_path / "model.onnx", row, 5)
    assert {operation.name: operation.nodes for operation in operations} == {"Cast": 1, "Softmax": 2}
    assert all(0 < operation.milliseconds < 1000 for operation in operations)
    assert operations == sorted(operations, key=lambda operation: -operation.milliseconds)


def test_what_is_no_onnx_file_is_refused(tmp_path):
    (tmp_path / "model.onnx").write_text("text")
    with pytest.raises(ValueError, match=r"must be an \.onnx file"):
        profile_onnx(tmp_path / "model.onnx", {}, 5)


@pytest.fixture
def complete(files, tmp_path):
    """The files with companions."""
    for name in ("model.tflite", "model.onnx"):
        shutil.copyfile(files / name, tmp_path / name)
        attach_entries(tmp_path / name, {"task.json": b'{"labels": ["no", "yes"]}', "vocab.txt": b"piece\n" * 2000})
    return tmp_path


@pytest.mark.parametrize("name", ["model.tflite", "model.onnx"])
def test_error_names_file_rule_and_operation(complete, name):
    lint_file(complete / name, Expected(2000, ("no", "yes")))
    with pytest.raises(LintError, match=rf"^{name}, labels_of_task: labels of task\.json must be \['yes', 'no'\]"):
        lint_file(complete / name, Expected(2000, ("yes", "no")))
    with pytest.raises(LintError, match=rf"^{name}, vocabulary_in_table: (operation|node) \d+.* 2001, got 2000$"):
        lint_file(complete / name, Expected(2001, ("no", "yes")))
