"""`describe --delegates`: a graph of two operations, for a person and for a program."""

import json
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.attachments import attach_entries
from keras_bert.export.sharing import write_model
from pipeline.cli import main

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
    assert main(["describe", str(file), "--delegates"]) == 0
    shown = capsys.readouterr().out
    assert "classification, up to 64 tokens" in shown
    rows = {line.split("│")[1].strip(): line for line in shown.splitlines() if line.count("│") == 5}
    assert "1 of 2" in rows["NNAPI"]
    assert "1 GELU float32: not on the list" in rows["NNAPI"]
    assert "2 of 2" in rows["GPU"]


def test_a_program_reads_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", str(file), "--delegates", "--json"]) == 0
    delegates = json.loads(capsys.readouterr().out)["delegates"]
    assert delegates["Core ML"] == {
        "operations": 2,
        "taken": {"TANH float32": 1},
        "left": {"GELU float32: not on the list": 1},
        "partitions": 1,
    }
    assert main(["describe", str(file), "--json"]) == 0
    assert "delegates" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("content", [b"a model, but not for LiteRT", b""])
def test_a_file_of_something_else_is_refused_in_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    attach_entries(path, {name: json.dumps(held).encode() for name, held in ATTACHED.items()})
    assert main(["describe", str(path), "--delegates"]) == 2
    message = capsys.readouterr().err
    assert "model.tflite must be a .tflite file, got other bytes" in message
    assert message.count("\n") == 1


def test_a_damaged_model_is_refused_in_one_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = bytearray(file.read_bytes())
    content[60] ^= 0xFF
    file.write_bytes(content)
    assert main(["describe", str(file), "--delegates"]) == 2
    message = capsys.readouterr().err
    assert "must hold the model that was exported" in message
    assert message.count("\n") == 1


def test_other_formats_are_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    attach_entries(path, {name: json.dumps(held).encode() for name, held in ATTACHED.items()})
    assert main(["describe", str(path), "--delegates"]) == 2
    message = capsys.readouterr().err
    assert "--delegates needs a .tflite file, got" in message
    assert message.count("\n") == 1
