"""Rules of what travels inside a file, each with a fault that was planted."""

import json

import onnx
import pytest

from keras_bert.export import lint
from keras_bert.export.rules.expected import Expected
from keras_bert.export.rules.lite import find_reachable_operations

EXPECTED = Expected(3, ("no", "yes"))
HELD = {"task.json": b'{"labels": ["no", "yes"]}', "labels.txt": b"no\nyes\n", "vocab.txt": b"a\nb\nc\n"}


def task(*labels):
    return {"task.json": json.dumps({"labels": labels}).encode()}


def test_what_fits_keeps_every_rule():
    assert not [breach for rule in lint.ATTACHMENT_RULES for breach in rule(HELD, EXPECTED)]
    numbers = {"task.json": b"{}", "vocab.txt": b"a\nb\nc\n"}
    assert not [breach for rule in lint.ATTACHMENT_RULES for breach in rule(numbers, Expected(3))], "without labels"


@pytest.mark.parametrize("labels", [("yes", "no"), ("no",), ()])
def test_labels_that_are_swapped_or_missing_are_found(labels):
    (breach,) = lint.labels_of_task(HELD | task(*labels), EXPECTED)
    assert breach == f"labels of task.json must be ['no', 'yes'], in this order, got {list(labels)}"


def test_labels_for_mediapipe_and_another_vocabulary():
    (breach,) = lint.labels_of_mediapipe(HELD | {"labels.txt": b"yes\nno\n"}, EXPECTED)
    assert breach == "labels.txt must be ['no', 'yes'], in this order, got ['yes', 'no']"
    labels = ("a\u2028b", "c\x85d", "e\v")
    held = HELD | task(*labels) | {"labels.txt": "".join(f"{label}\n" for label in labels).encode()}
    assert not list(lint.labels_of_mediapipe(held, Expected(3, labels)))
    (breach,) = lint.vocabulary(HELD, Expected(4))
    assert breach == "vocab.txt must have 4 entries, got 3"


MAKERS = (
    ("Less", ["ids"], ["below"]),
    ("Add", ["ids", "size"], ["shifted"]),
    ("Cast", ["below"], ["chosen"]),
    ("Gather", ["table", "shifted"], ["vectors"]),
    ("Gather", ["others", "vectors"], ["far"]),
)


def test_an_input_goes_through_some_kinds_alone():
    assert list(find_reachable_operations("ids", MAKERS, frozenset(("Add", "Cast")))) == [0, 1, 3]
    assert list(find_reachable_operations("ids", MAKERS, frozenset(("Less", "Cast")))) == [0, 1, 2]
    assert not list(find_reachable_operations("mask", MAKERS, frozenset(("Add",))))


LARGE = Expected(2000)


@pytest.fixture
def model(files):
    return onnx.load_model(files / "model.onnx")


@pytest.mark.parametrize("rule", lint.ONNX_RULES)
def test_a_file_as_it_is_written_keeps_every_rule(rule, model):
    assert not list(rule(model, LARGE))


def test_what_onnx_refuses_and_operations_of_one_runtime_are_found(model):
    model.graph.node[5].input[0] = "nowhere"
    (breach,) = lint.valid_file(model, LARGE)
    assert breach.startswith("onnx.checker must find nothing, got ")
    assert "nowhere" in breach
    assert "\n" not in breach
    number, node = next((number, node) for number, node in enumerate(model.graph.node) if node.op_type == "MatMul")
    node.op_type, node.domain = "FusedMatMul", "com.microsoft"
    (breach,) = lint.standard_operations(model, LARGE)
    assert breach == f"node {number} must be of the ONNX standard, got FusedMatMul of com.microsoft"


def test_shapes_that_do_not_fit_are_found(model):
    (answers,) = model.graph.output
    answers.type.tensor_type.elem_type = onnx.TensorProto.INT64
    assert len(list(lint.valid_file(model, LARGE))) == 1


def test_a_table_of_another_vocabulary_is_found(model):
    (breach,) = lint.vocabulary_in_table(model, Expected(1999))
    assert breach.endswith("Gather: the table must have as many rows as the vocabulary has entries, 1999, got 2000")


def test_ids_that_are_not_looked_up_are_found(model):
    for node in model.graph.node:
        node.input[:] = ["others" if name == "token_ids" else name for name in node.input]
    assert list(lint.vocabulary_in_table(model, LARGE)) == ["input token_ids must be looked up in a table, found none"]
