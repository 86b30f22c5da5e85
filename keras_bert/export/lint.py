"""Checks that an exported file follows the rules for its format and its attached files; a violation raises an error."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from keras_bert.core.folders import LABELS_TEXT, SAVED_MODEL_FILE, TASK_FILE, VOCABULARY_FILE
from keras_bert.export.attachments import read_attachments
from keras_bert.export.rules.expected import Expected
from keras_bert.export.rules.lite import LITE_RULES, find_reachable_operations
from keras_bert.export.rules.lite_graphs import read_graphs

Rule = Callable[[Any, Expected], Iterator[str]]


class LintError(AssertionError):
    """An exported file violates a rule; the message names the file, the rule and the operation or field."""


def lint_file(path: Path, expected: Expected) -> None:
    """Checks an exported file with its companions attached against all rules for its format."""
    if path.suffix == ".onnx":
        import onnx

        _check(path, ONNX_RULES, [onnx.load_model(path)], expected)
    elif path.name == SAVED_MODEL_FILE:
        from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

        _check(path, SAVED_MODEL_RULES, [SavedModel.FromString(path.read_bytes())], expected)
    else:
        _check(path, LITE_RULES, read_graphs(path), expected)
    _check(path, ATTACHMENT_RULES, [read_attachments(path)], expected)


def _check(path: Path, rules: Iterable[Rule], subjects: Iterable[Any], expected: Expected) -> None:
    for subject in subjects:
        for rule in rules:
            for violation in rule(subject, expected):
                raise LintError(f"{path.name}, {rule.__name__}: {violation}")


# The domains of operations of the ONNX standard, which every runtime implements.
_STANDARD = ("", "ai.onnx")
# Operations on token ids before the lookup: negative ids count from the end, and a prompt is prepended.
_ID_OPERATIONS = frozenset(
    ("Add", "Cast", "Concat", "Identity", "Pad", "Mul", "Reshape", "Squeeze", "Unsqueeze", "Where")
)


def valid_file(model: Any, expected: Expected) -> Iterator[str]:
    """ONNX' checker, which also infers all shapes, finds no error."""
    import onnx

    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        yield f"onnx.checker must find nothing, got {' '.join(str(error).split())}"


def standard_operations(model: Any, expected: Expected) -> Iterator[str]:
    """Every operation belongs to the ONNX standard, not to a single runtime."""
    for number, node in enumerate(model.graph.node):
        if node.domain not in _STANDARD:
            yield f"node {number} must be of the ONNX standard, got {node.op_type} of {node.domain}"


def vocabulary_in_table(model: Any, expected: Expected) -> Iterator[str]:
    """The token table has a row for each vocabulary entry."""
    nodes, rows = model.graph.node, {weight.name: weight.dims for weight in model.graph.initializer}
    makers = [(node.op_type, list(node.input), list(node.output)) for node in nodes]
    users = [(number, nodes[number]) for number in find_reachable_operations("token_ids", makers, _ID_OPERATIONS)]
    lookups = [(number, node) for number, node in users if node.op_type == "Gather" and node.input[0] in rows]
    if not lookups:
        yield "input token_ids must be looked up in a table, found none"
    for number, node in lookups:
        held = rows[node.input[0]][0]
        if held != expected.vocabulary_size:
            message = f"must have as many rows as the vocabulary has entries, {expected.vocabulary_size}, got {held}"
            yield f"node {number}, Gather: the table {message}"


ONNX_RULES = (valid_file, standard_operations, vocabulary_in_table)


def served_signatures(model: Any, expected: Expected) -> Iterator[str]:
    """There is one graph, for servers, with the signature that requests without a signature name use."""
    tags = [list(graph.meta_info_def.tags) for graph in model.meta_graphs]
    if tags != [["serve"]]:
        yield f"graphs must be one with the tag serve, got {tags}"
    elif "serving_default" not in model.meta_graphs[0].signature_def:
        yield f"signatures must hold serving_default, got {sorted(model.meta_graphs[0].signature_def)}"


def any_batch(model: Any, expected: Expected) -> Iterator[str]:
    """All inputs and outputs begin with a batch axis of any size, as TensorFlow Serving's rows want it."""
    for graph in model.meta_graphs:
        for name, signature in graph.signature_def.items():
            if signature.method_name != "tensorflow/serving/predict":
                continue
            for tensor, entry in (*signature.inputs.items(), *signature.outputs.items()):
                if not entry.tensor_shape.dim or entry.tensor_shape.dim[0].size != -1:
                    yield f"{name}: {tensor} must have a batch of any size, got {entry.tensor_shape}"


SAVED_MODEL_RULES = (served_signatures, any_batch)


def labels_of_task(held: Mapping[str, bytes], expected: Expected) -> Iterator[str]:
    """The attached task has the labels of the training rows, in the order of the classes."""
    labels = json.loads(held[TASK_FILE]).get("labels", [])
    if expected.labels and tuple(labels) != expected.labels:
        yield f"labels of {TASK_FILE} must be {list(expected.labels)}, in this order, got {labels}"


def labels_of_mediapipe(held: Mapping[str, bytes], expected: Expected) -> Iterator[str]:
    """MediaPipe's label file has the labels of the training rows."""
    if LABELS_TEXT in held and expected.labels:
        # MediaPipe splits lines at \n only: Unicode's other line ends are part of a label.
        labels = held[LABELS_TEXT].decode().removesuffix("\n").split("\n")
        if tuple(labels) != expected.labels:
            yield f"{LABELS_TEXT} must be {list(expected.labels)}, in this order, got {labels}"


def vocabulary(held: Mapping[str, bytes], expected: Expected) -> Iterator[str]:
    """The attached vocabulary has as many entries as the vocabulary of the training rows."""
    size = held[VOCABULARY_FILE].count(b"\n")
    if size != expected.vocabulary_size:
        yield f"{VOCABULARY_FILE} must have {expected.vocabulary_size} entries, got {size}"


ATTACHMENT_RULES = (labels_of_task, labels_of_mediapipe, vocabulary)
