"""The rules for `.onnx` files."""

from collections.abc import Iterator
from typing import Any

from keras_bert.export.rules.expected import Expected
from keras_bert.export.rules.reach import find_reachable_operations

# The domains of operations of the ONNX standard, which every runtime implements.
_STANDARD = ("", "ai.onnx")
# Operations on token ids before the lookup: negative ids count from the end, and a prompt is prepended.
_OF_IDS = frozenset(("Add", "Cast", "Concat", "Identity", "Pad", "Mul", "Reshape", "Squeeze", "Unsqueeze", "Where"))


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
    users = [(number, nodes[number]) for number in find_reachable_operations("token_ids", makers, _OF_IDS)]
    lookups = [(number, node) for number, node in users if node.op_type == "Gather" and node.input[0] in rows]
    if not lookups:
        yield "input token_ids must be looked up in a table, found none"
    for number, node in lookups:
        held = rows[node.input[0]][0]
        if held != expected.vocabulary_size:
            message = f"must have as many rows as the vocabulary has entries, {expected.vocabulary_size}, got {held}"
            yield f"node {number}, Gather: the table {message}"


RULES = (valid_file, standard_operations, vocabulary_in_table)
