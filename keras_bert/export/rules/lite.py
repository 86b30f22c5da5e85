"""The rules for `.tflite` files."""

from collections.abc import Iterator, Sequence

from keras_bert.export.layer_names import is_head_float
from keras_bert.export.rules.expected import Expected
from keras_bert.export.rules.lite_graphs import LiteGraph


def find_reachable_operations(
    start: str, operations: Sequence[tuple[str, Sequence[str], Sequence[str]]], through: frozenset[str]
) -> Iterator[int]:
    """Yields the indices of operations that use an input, directly or through operations of the kinds `through`.

    Operations have a kind, inputs and outputs, and come in the order in which they run.
    """
    reachable = {start}
    for number, (kind, inputs, outputs) in enumerate(operations):
        if reachable & set(inputs):
            yield number
            if kind in through:
                reachable |= set(outputs)


# The largest step of a quantization grid for attention scores. Attention weights change by a factor of e if a score
# changes by 1. The grid includes the mask's constant: with -120 a step is 0.5, with -1e4 it is 39.
COARSEST_SCORES = 2.0
# Operations that convert between integers and floats.
_BORDERS = frozenset(("CAST", "DEQUANTIZE", "QUANTIZE"))
# Operations on token ids before the lookup: negative ids count from the end, and a prompt is prepended.
_ID_OPERATIONS = frozenset(("ADD", "CAST", "CONCATENATION", "PAD", "PADV2", "RESHAPE", "SELECT", "SELECT_V2"))
_ARITHMETIC = frozenset(("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"))
_LOOKUPS = frozenset(("GATHER", "EMBEDDING_LOOKUP"))


def built_in_operations(graph: LiteGraph, expected: Expected) -> Iterator[str]:
    """Every operation is built into LiteRT: no custom operations, and none of TensorFlow ("Flex")."""
    for operation in graph.operations:
        if not operation.built_in:
            yield f"{operation.place} must be built into LiteRT, got {operation.kind}"


def int32_inputs(graph: LiteGraph, expected: Expected) -> Iterator[str]:
    """Inputs are int32: delegates and clients on phones cannot read int64."""
    for name, number in graph.inputs.items():
        if graph.tensors[number].type != "int32":
            yield f"input {name} must be int32, got {graph.tensors[number].type}"


def fixed_shapes(graph: LiteGraph, expected: Expected) -> Iterator[str]:
    """Every shape is fixed: otherwise LiteRT plans memory at each run, and accelerators do not support the graph."""
    for tensor in graph.tensors:
        if -1 in tensor.shape:
            yield f"tensor {tensor.name} must have a fixed shape, got {list(tensor.shape)}"


def operands_for_accelerators(graph: LiteGraph, expected: Expected) -> Iterator[str]:
    """No negation, and operands with as many axes as the result, but constants of one row; see `simplify_operands`."""
    fixed = {number for number, tensor in enumerate(graph.tensors) if tensor.constant}
    for operation in graph.operations:
        shape = graph.tensors[operation.outputs[0]].shape
        if operation.kind == "DEQUANTIZE":
            fixed.update(operation.outputs if operation.inputs[0] in fixed else ())
        if operation.kind == "NEG" and graph.tensors[operation.outputs[0]].type == "float32":
            yield f"{operation.place}, NEG, must be a product or a difference: Intel's NPU has no negation"
        if operation.kind == "FULLY_CONNECTED" and len(graph.tensors[operation.inputs[0]].shape) != len(shape):
            yield f"{operation.place}, FULLY_CONNECTED, must read {len(shape)} axes, as it gives, got another number"
        for number in operation.inputs if operation.kind in _ARITHMETIC else ():
            operand = graph.tensors[number].shape
            if len(operand) not in (0, len(shape)) and not (number in fixed and set(operand[:-1]) <= {1}):
                yield f"{operation.place}, {operation.kind}, must read {len(shape)} axes, got {list(operand)}"


def integers_alone(graph: LiteGraph, expected: Expected) -> Iterator[str]:
    """If the recipe quantizes all activations, no operation computes with floats.

    An output that is a sum stays float: it adds the mask's constant, and a grid over that range would be too coarse. An
    output that is a product stays float if its layer does, and so do vectors of length 1.
    """
    if not expected.integers_alone:
        return
    read = {number for operation in graph.operations for number in operation.inputs}
    of_answers = {"ADD", "FULLY_CONNECTED"} if is_head_float(expected.float_layers) else {"ADD"}
    for operation in graph.operations:
        made = graph.tensors[operation.outputs[0]]
        normalized = any(expected.stays_float(graph.tensors[number].name) for number in operation.inputs)
        answers = operation.outputs[0] not in read and (operation.kind in of_answers or normalized)
        allowed = operation.kind in _BORDERS or answers or expected.stays_float(made.name)
        if made.type.startswith("float") and not allowed:
            yield f"{operation.place}, {operation.kind}, must give integers with {expected.recipe}, got {made.type}"


def fine_scores(graph: LiteGraph, expected: Expected) -> Iterator[str]:
    """The quantization grid of attention scores is fine enough: the mask's constant does not dominate its range."""
    for operation in graph.operations:
        if operation.kind == "SOFTMAX":
            scores = graph.tensors[operation.inputs[0]]
            if scores.step is not None and scores.step > COARSEST_SCORES:
                rule = f"must read scores in steps of at most {COARSEST_SCORES:g}"
                yield f"{operation.place}, SOFTMAX, {rule}, got {scores.step:.4g}: is the mask's constant too large?"


def vocabulary_in_table(graph: LiteGraph, expected: Expected) -> Iterator[str]:
    """The token table has a row for each vocabulary entry."""
    if "token_ids" not in graph.inputs:
        return
    makers = [
        (operation.kind, list(map(str, operation.inputs)), list(map(str, operation.outputs)))
        for operation in graph.operations
    ]
    users = [
        graph.operations[number]
        for number in find_reachable_operations(str(graph.inputs["token_ids"]), makers, _ID_OPERATIONS)
    ]
    lookups = [operation for operation in users if operation.kind in _LOOKUPS]
    if not lookups:
        yield "input token_ids must be looked up in a table, found none"
    for operation in lookups:
        # GATHER has the table first, EMBEDDING_LOOKUP the ids.
        table = graph.tensors[operation.inputs[0 if operation.kind == "GATHER" else 1]]
        if table.shape[0] != expected.vocabulary_size:
            rows = f"must have as many rows as the vocabulary has entries, {expected.vocabulary_size}"
            yield f"{operation.place}, {operation.kind}: the table {rows}, got {table.shape[0]}"


LITE_RULES = (
    built_in_operations,
    int32_inputs,
    fixed_shapes,
    operands_for_accelerators,
    integers_alone,
    fine_scores,
    vocabulary_in_table,
)
