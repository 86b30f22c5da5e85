"""`describe --delegates`: a graph of two operations, for a person and for a program."""

import json
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.attachments import attach_entries
from keras_bert.export.sharing import write_model
from tests.pipeline.command_line import refused, said

ATTACHED = {
    "task.json": {"task": "classification", "labels": ["no", "yes"], "max_length": 64},
    "export.json": {"model.tflite": {"weights": "float32", "lengths": [8]}},
}


def write_chain(path: Path, *kinds: int) -> None:
    """A file whose operations of one operand follow one another."""
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.operatorCodes = 3, [schema.BufferT()], []
    graph.tensors, graph.operators = [], []
    for number in range(len(kinds) + 1):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.buffer = f"tensor_{number}".encode(), np.array([1, 8], np.int32), 0
        graph.tensors.append(tensor)
    for number, kind in enumerate(kinds):
        code, operation = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode, code.deprecatedBuiltinCode = kind, min(kind, 127)
        code.version = 1
        model.operatorCodes.append(code)
        operation.opcodeIndex = number
        operation.inputs, operation.outputs = np.array([number], np.int32), np.array([number + 1], np.int32)
        graph.operators.append(operation)
    graph.inputs, graph.outputs = np.array([0], np.int32), np.array([len(kinds)], np.int32)
    model.subgraphs = [graph]
    path.write_bytes(write_model(model))
    attach_entries(path, {name: json.dumps(content).encode() for name, content in ATTACHED.items()})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_chain(tmp_path / "model.tflite", schema.BuiltinOperator.TANH, schema.BuiltinOperator.GELU)
    return tmp_path / "model.tflite"


def test_a_person_reads_what_is_left(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "describe", file, "--delegates")
    assert "classification, up to 64 tokens" in shown
    rows = {line.split("│")[1].strip(): line for line in shown.splitlines() if line.count("│") == 5}
    assert "1 of 2" in rows["NNAPI"]
    assert "1 GELU float32: not on the list" in rows["NNAPI"]
    assert "2 of 2" in rows["GPU"]


def test_a_program_reads_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    delegates = json.loads(said(capsys, "describe", file, "--delegates", "--json"))["delegates"]
    assert delegates["Core ML"] == {
        "operations": 2,
        "taken": {"TANH float32": 1},
        "left": {"GELU float32: not on the list": 1},
        "partitions": 1,
    }
    assert "delegates" not in json.loads(said(capsys, "describe", file, "--json"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.tflite", b"a model, but not for LiteRT", "model.tflite must be a .tflite file, got other bytes"),
        ("model.tflite", b"", "model.tflite must be a .tflite file, got other bytes"),
        ("model.tflite", None, "must hold the model that was exported"),
        ("model.onnx", b"", "--delegates needs a .tflite file, got"),
    ],
    ids=["other bytes", "empty", "damaged", "ONNX"],
)
def test_other_files_are_refused_in_one_line(
    file: Path, name: str, content: bytes | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file.with_name(name)
    if content is None:
        damaged = bytearray(file.read_bytes())
        damaged[60] ^= 0xFF
        path.write_bytes(damaged)
    else:
        path.write_bytes(content)
        attach_entries(path, {entry: json.dumps(held).encode() for entry, held in ATTACHED.items()})
    assert message in refused(capsys, "describe", path, "--delegates")
