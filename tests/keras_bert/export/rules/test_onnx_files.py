"""Rules of `.onnx` files, each with a fault that was planted."""

import onnx
import pytest

from keras_bert.export import lint
from keras_bert.export.rules.expected import Expected

EXPECTED = Expected(2000)


@pytest.fixture
def model(files):
    return onnx.load_model(files / "model.onnx")


@pytest.mark.parametrize("rule", lint.ONNX_RULES)
def test_a_file_as_it_is_written_keeps_every_rule(rule, model):
    assert not list(rule(model, EXPECTED))


def test_what_onnx_itself_refuses_is_found(model):
    model.graph.node[5].input[0] = "nowhere"
    (breach,) = lint.valid_file(model, EXPECTED)
    assert breach.startswith("onnx.checker must find nothing, got ")
    assert "nowhere" in breach
    assert "\n" not in breach


def test_shapes_that_do_not_fit_are_found(model):
    (answers,) = model.graph.output
    answers.type.tensor_type.elem_type = onnx.TensorProto.INT64
    assert len(list(lint.valid_file(model, EXPECTED))) == 1


def test_operations_of_one_runtime_are_found(model):
    number, node = next((number, node) for number, node in enumerate(model.graph.node) if node.op_type == "MatMul")
    node.op_type, node.domain = "FusedMatMul", "com.microsoft"
    (breach,) = lint.standard_operations(model, EXPECTED)
    assert breach == f"node {number} must be of the ONNX standard, got FusedMatMul of com.microsoft"


def test_a_table_of_another_vocabulary_is_found(model):
    (breach,) = lint.vocabulary_in_table(model, Expected(1999))
    assert breach.endswith("Gather: the table must have as many rows as the vocabulary has entries, 1999, got 2000")


def test_ids_that_are_not_looked_up_are_found(model):
    for node in model.graph.node:
        node.input[:] = ["others" if name == "token_ids" else name for name in node.input]
    assert list(lint.vocabulary_in_table(model, EXPECTED)) == [
        "input token_ids must be looked up in a table, found none"
    ]
