"""Where the time of an `.onnx` file goes."""

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from keras_bert.export.attachments import attach_entries
from keras_bert.export.delegates import cover_graph
from keras_bert.export.delegation import profile_onnx
from keras_bert.export.lint import LintError, lint_file
from keras_bert.export.rules.expected import Expected
from keras_bert.export.rules.lite_graphs import LiteGraph, Operation, Tensor
from keras_bert.export.supported_operations import DELEGATES


def test_each_kind_of_node_is_counted_and_timed(tmp_path: Path) -> None:
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


def test_what_is_no_onnx_file_is_refused(tmp_path: Path) -> None:
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


def graph_of(kind: str, inputs: list[Tensor], output: Tensor, *, built_in: bool = True, **options: object) -> LiteGraph:
    version = options.pop("version", 1)
    places = tuple(range(len(inputs)))
    operation = Operation("operation 0 of graph 0", kind, built_in, places, (len(inputs),), version, options)
    return LiteGraph([*inputs, output], [operation], {})


def value(type_: str, *shape: int, constant: bool = False, step: float | None = None) -> Tensor:
    return Tensor("values", type_, shape, step, constant)


def floats(*shape: int, constant: bool = False) -> Tensor:
    return value("float32", *shape, constant=constant)


@pytest.mark.parametrize(
    ("graph", "left"),
    [
        (graph_of("CUMSUM", [floats(1, 8)], floats(1, 8)), ["not on the list"] * 3),
        (graph_of("GELU", [floats(1, 8)], floats(1, 8), built_in=False), ["not on the list"] * 3),
        (graph_of("TANH", [floats(1, 8)], floats(1, 8)), [None] * 3),
        (graph_of("TANH", [value("int16", 1, 8)], value("int16", 1, 8)), ["it takes no int16 inputs"] * 3),
        (
            graph_of("TANH", [floats(1, 8)], floats(1, 8), version=3),
            [f"version must be at most {version}, got 3" for version in (2, 2, 1)],
        ),
        (graph_of("SOFTMAX", [floats(1, 8)], floats(1, 8), beta=2.0), [None, "beta must be 1", "beta must be 1"]),
        (graph_of("ADD", [floats(1, 4, 8), floats(4, 1)], floats(1, 4, 8)), [None, None, None]),
        (
            graph_of("ADD", [floats(2, 4, 4, 8), floats(1, 4, 1, 8)], floats(2, 4, 4, 8)),
            [None, None, "one shape must fit the other"],
        ),
        (
            graph_of("FULLY_CONNECTED", [floats(4, 8), floats(2, 8, constant=True)], floats(4, 2)),
            [None, None, "the input must be a single row"],
        ),
        (
            graph_of("BATCH_MATMUL", [floats(2, 4, 8), floats(1, 8, 4)], floats(2, 4, 4)),
            ["factors must have equal batches", None, "not on the list"],
        ),
    ],
)
def test_planted_operations_are_taken_or_left(graph: LiteGraph, left: list[str | None]) -> None:
    for delegate, reason in zip(DELEGATES, left, strict=True):
        coverage = cover_graph(graph, delegate)
        name = f"{graph.operations[0].kind} {graph.tensors[0].type}"
        assert coverage.left == ({} if reason is None else {f"{name}: {reason}": 1}), delegate.name
        assert coverage.taken == ({name: 1} if reason is None else {})
        assert coverage.partitions == (reason is None)
