"""The operations that the delegates of phones take, by the lists that their sources publish.

Read in google-ai-edge/LiteRT at commit f6745779 of 2026-08-21. Kinds that BERT's graphs never have (convolutions,
pooling, recurrence, resizing, images) are left out of all three tables.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from keras_bert.export.rules.lite_graphs import Operation, Tensor

_FLOAT = frozenset(("float32",))
_QUANTIZED = frozenset(("int8", "uint8"))
_WHOLE = frozenset(("int32",))
_NUMBERS = _FLOAT | _QUANTIZED
_BOOL = frozenset(("bool",))
# The bits of a slice that change the number of axes.
_SLICE_MASKS = ("ellipsisMask", "newAxisMask", "shrinkAxisMask")


class GraphNode(NamedTuple):
    """An operation with its tensors."""

    operation: Operation
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @property
    def runtime_inputs(self) -> list[Tensor]:
        """The inputs that the file does not hold."""
        return [tensor for tensor in self.inputs if not tensor.constant]


# What a delegate says of a node: the reason for leaving it, or None for taking it.
Check = Callable[[GraphNode], str | None]


class Support(NamedTuple):
    """The nodes of a kind that a delegate takes: types of checked inputs and of outputs, version, constraints."""

    types: frozenset[str]
    version: float
    check: Check = lambda node: None
    results: frozenset[str] | None = None


class Delegate(NamedTuple):
    """A delegate of LiteRT, and the operations on its list.

    Attributes:
        name: the name in LiteRT's documentation.
        source: the file of the repository google-ai-edge/LiteRT that has the list.
        typed_inputs: returns the inputs of a node whose types the delegate checks.
        supports: kind -> the nodes that are taken.
        reads_float16: whether the delegate reads float16 weights; else it sees them unpacked to float32.
    """

    name: str
    source: str
    typed_inputs: Callable[[GraphNode], Sequence[Tensor]]
    supports: Mapping[str, Support]
    reads_float16: bool = True


def _value_inputs(node: GraphNode) -> Sequence[Tensor]:
    """The values: behind the condition of a choice, behind the ids of a look-up."""
    return node.inputs[1:2] if node.operation.kind in ("EMBEDDING_LOOKUP", "SELECT", "SPLIT") else node.inputs[:1]


def _at_most_four_axes(node: GraphNode) -> str | None:
    axes = max(len(tensor.shape) for tensor in (*node.inputs, *node.outputs))
    return f"tensors must have at most 4 axes, got {axes}" if axes > 4 else None


def _constant_second_input(node: GraphNode) -> str | None:
    return None if len(node.inputs) > 1 and node.inputs[1].constant else "the second input must be a constant"


def _constant_shape(node: GraphNode) -> str | None:
    return _at_most_four_axes(node) or (_constant_second_input(node) if len(node.inputs) > 1 else None)


def _constant_axes(node: GraphNode) -> str | None:
    return None if len(node.inputs) > 1 and node.inputs[1].constant else "the axes must be a constant"


def _at_most_two_operands(node: GraphNode) -> str | None:
    count = len(node.inputs)
    return None if count <= 2 and node.runtime_inputs else f"operands must be 1 or 2, not all constant, got {count}"


# NNAPI --------------------------------------------------------------------------------------------------------------


def _nnapi_product(node: GraphNode) -> str | None:
    first, weights = node.inputs[:2]
    if weights.type not in _NUMBERS:
        return f"it takes no {weights.type} weights"
    # NNAPI's FULLY_CONNECTED has no type for weights with several scales; the delegate unpacks those of float inputs.
    several = weights.type in _QUANTIZED and weights.step is None
    return "weights must have one scale, got one a unit" if first.type in _QUANTIZED and several else None


def _nnapi_batch_product(node: GraphNode) -> str | None:
    first, second = node.inputs
    if first.type != second.type:
        return f"factors must have one type, got {first.type} and {second.type}"
    if first.shape[:-2] != second.shape[:-2]:
        return "factors must have equal batches"
    return _at_most_four_axes(node)


def _nnapi_choice(node: GraphNode) -> str | None:
    condition, first = node.inputs[:2]
    return None if condition.shape == first.shape else "condition and values must have one shape"


def _nnapi_gather(node: GraphNode) -> str | None:
    return None if node.inputs[1].type == "int32" and node.inputs[1].shape else "indices must be int32, with an axis"


def _nnapi_mean(node: GraphNode) -> str | None:
    return _at_most_four_axes(node) or (None if node.outputs[0].shape else "the result must have an axis")


def _nnapi_concatenation(node: GraphNode) -> str | None:
    return _at_most_four_axes(node) or _no_activation(node)


def _no_activation(node: GraphNode) -> str | None:
    return "it must have no fused activation" if node.operation.options.get("fusedActivationFunction") else None


# Feature level 7, the highest on the list.
_COMPARISONS = ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL")
_NNAPI = {
    "ADD": Support(_NUMBERS | _WHOLE, 2),
    "MUL": Support(_NUMBERS | _WHOLE, 2),
    "SUB": Support(_NUMBERS | _WHOLE, 3, _at_most_four_axes),
    "DIV": Support(_FLOAT, 1),
    "SQUARED_DIFFERENCE": Support(_NUMBERS | _WHOLE, 2, _at_most_four_axes),
    "MAXIMUM": Support(_NUMBERS | _WHOLE, 3),
    "MINIMUM": Support(_NUMBERS | _WHOLE, 3),
    "FULLY_CONNECTED": Support(_NUMBERS, 5, _nnapi_product, _NUMBERS),
    "BATCH_MATMUL": Support(_FLOAT | _WHOLE | {"int8"}, 2, _nnapi_batch_product),
    "SOFTMAX": Support(_NUMBERS, 2, _at_most_four_axes, _NUMBERS),
    "LOG_SOFTMAX": Support(_FLOAT, 1),
    "RESHAPE": Support(_NUMBERS | _WHOLE, 1, _constant_shape),
    "TRANSPOSE": Support(_NUMBERS | _WHOLE, 2, _constant_second_input),
    "STRIDED_SLICE": Support(_NUMBERS, 2),
    "SLICE": Support(_NUMBERS | _WHOLE, 2),
    "SPLIT": Support(_NUMBERS | _WHOLE, 3),
    "CONCATENATION": Support(_NUMBERS | {"float16"}, 2, _nnapi_concatenation),
    "PAD": Support(_NUMBERS, 2),
    "PADV2": Support(_NUMBERS, 2),
    "TILE": Support(_NUMBERS | _WHOLE, 1),
    "EXPAND_DIMS": Support(_NUMBERS | _WHOLE | {"float16"}, 1, _constant_second_input),
    "GATHER": Support(_NUMBERS | _WHOLE | {"float16"}, 2, _nnapi_gather),
    "EMBEDDING_LOOKUP": Support(_FLOAT, 1),
    "SELECT": Support(_NUMBERS | _WHOLE, 2, _nnapi_choice),
    **dict.fromkeys(_COMPARISONS, Support(_NUMBERS | _WHOLE | _BOOL, 2)),
    **dict.fromkeys(("LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR"), Support(_BOOL, 1)),
    "CAST": Support(_NUMBERS | _WHOLE, 1, results=_NUMBERS | _WHOLE),
    "QUANTIZE": Support(_NUMBERS, 2, results=_QUANTIZED),
    "DEQUANTIZE": Support(_QUANTIZED, 2),
    "MEAN": Support(_NUMBERS, 2, _nnapi_mean),
    "SUM": Support(_FLOAT, 1, _nnapi_mean),
    "NEG": Support(_FLOAT | _WHOLE, 2),
    "RSQRT": Support(_NUMBERS, 2),
    **dict.fromkeys(("ABS", "EXP", "LOG", "POW", "SQRT"), Support(_FLOAT, 1)),
    **dict.fromkeys(("LOGISTIC", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"), Support(_NUMBERS, 2)),
}


# GPU ----------------------------------------------------------------------------------------------------------------


def _gpu_product(node: GraphNode) -> str | None:
    weights = node.inputs[1]
    if node.operation.options.get("weightsFormat"):
        return "weights must have the default format"
    if node.operation.options.get("keepNumDims") and len(node.inputs[0].shape) != len(node.outputs[0].shape):
        return "input and result must have equally many axes"
    # The delegate unpacks constant weights of 8 bits.
    return None if weights.type in _GPU_VALUES else f"it takes no {weights.type} weights"


def _gpu_gather(node: GraphNode) -> str | None:
    indices = node.inputs[1]
    if len(indices.shape) != 1:
        return f"indices must have 1 axis, got {len(indices.shape)}"
    return None if indices.type == "int32" else f"indices must be int32, got {indices.type}"


def _gpu_slice(node: GraphNode) -> str | None:
    if len(node.inputs[0].shape) not in (3, 4):
        return f"the input must have 3 or 4 axes, got {len(node.inputs[0].shape)}"
    masks = [mask for mask in _SLICE_MASKS if node.operation.options.get(mask)]
    return "it must neither drop nor add axes" if masks else None


def _softmax_of_beta_1(node: GraphNode) -> str | None:
    return None if node.operation.options.get("beta") == 1 else "beta must be 1"


def _gpu_batch_product(node: GraphNode) -> str | None:
    return None if len(node.inputs) == 2 else f"factors must be 2, got {len(node.inputs)}"


def _gpu_pad(node: GraphNode) -> str | None:
    return None if node.inputs[1].shape in ((3, 2), (4, 2)) else "the input must have 3 or 4 axes"


_GPU_VALUES = _NUMBERS | {"float16"}
_GPU_ONE_OPERAND = "ABS CEIL COS ELU EXP FLOOR GELU LOG LOGISTIC NEG RSQRT SIGN SIN SQRT SQUARE TANH"
_GPU_TWO_OPERANDS = "DIV FLOOR_DIV FLOOR_MOD MAXIMUM MINIMUM POW SQUARED_DIFFERENCE SUB"
_GPU = {
    "ADD": Support(_GPU_VALUES, 2, _at_most_two_operands, _GPU_VALUES),
    "MUL": Support(_GPU_VALUES, 3, _at_most_two_operands, _GPU_VALUES),
    **dict.fromkeys(_GPU_ONE_OPERAND.split(), Support(_GPU_VALUES, 2, results=_GPU_VALUES)),
    **dict.fromkeys(_GPU_TWO_OPERANDS.split(), Support(_GPU_VALUES, 2, _at_most_two_operands, _GPU_VALUES)),
    **dict.fromkeys(("RELU", "RELU6", "RELU_N1_TO_1", "LEAKY_RELU"), Support(_GPU_VALUES, 2, results=_GPU_VALUES)),
    "FULLY_CONNECTED": Support(_GPU_VALUES, 9, _gpu_product, _GPU_VALUES),
    "BATCH_MATMUL": Support(_GPU_VALUES, math.inf, _gpu_batch_product, _GPU_VALUES),
    "SOFTMAX": Support(_GPU_VALUES, 2, _softmax_of_beta_1, _GPU_VALUES),
    "RESHAPE": Support(_GPU_VALUES, 1, results=_GPU_VALUES),
    "TRANSPOSE": Support(_GPU_VALUES, 4, results=_GPU_VALUES),
    "STRIDED_SLICE": Support(_GPU_VALUES, 4, _gpu_slice, _GPU_VALUES),
    "SLICE": Support(_GPU_VALUES, 2, _gpu_slice, _GPU_VALUES),
    "SPLIT": Support(_GPU_VALUES, math.inf, results=_GPU_VALUES),
    "CONCATENATION": Support(_GPU_VALUES, 2, results=_GPU_VALUES),
    "PAD": Support(_GPU_VALUES, 2, _gpu_pad, _GPU_VALUES),
    "PADV2": Support(_GPU_VALUES, 2, _gpu_pad, _GPU_VALUES),
    "TILE": Support(_GPU_VALUES, math.inf, results=_GPU_VALUES),
    "PACK": Support(_GPU_VALUES, math.inf, results=_GPU_VALUES),
    # A comparison is taken only if its one reader makes floats of it; ours compare whole numbers.
    **dict.fromkeys(_COMPARISONS, Support(_GPU_VALUES, 2, results=_BOOL)),
    "GATHER": Support(_GPU_VALUES | _WHOLE, 1, _gpu_gather, _GPU_VALUES),
    "SELECT": Support(_GPU_VALUES | _BOOL, 1, results=_GPU_VALUES),
    "SELECT_V2": Support(_GPU_VALUES | _BOOL, 1, results=_GPU_VALUES),
    "CAST": Support(_FLOAT | _WHOLE, math.inf, results=_FLOAT | _WHOLE),
    "QUANTIZE": Support(_GPU_VALUES, 2, results=_GPU_VALUES),
    "DEQUANTIZE": Support(_GPU_VALUES, 3, results=_GPU_VALUES),
    "MEAN": Support(_GPU_VALUES, math.inf, _constant_axes, _GPU_VALUES),
    "SUM": Support(_GPU_VALUES, math.inf, _constant_axes, _GPU_VALUES),
}


# Core ML ------------------------------------------------------------------------------------------------------------


def _core_ml_product(node: GraphNode) -> str | None:
    for constant in node.inputs[1:]:
        if not constant.constant or constant.type not in ("float16", "float32"):
            return f"it takes no {constant.type} weights" if constant.constant else "weights must be constants"
    first = node.inputs[0].shape
    return None if math.prod(first) == first[-1] else "the input must be a single row"


def _core_ml_pair(node: GraphNode) -> str | None:
    first, second = node.inputs
    for tensor in node.inputs:
        if tensor.type != "float32" and not (tensor.type == "float16" and tensor.constant):
            return f"it takes no {tensor.type} inputs"
    if max(len(first.shape), len(second.shape)) > 4:
        return _at_most_four_axes(node)
    (batch, *size, channels), (other_batch, *other_size, other_channels) = (
        (1,) * (4 - len(tensor.shape)) + tensor.shape for tensor in node.inputs
    )
    single = any(tensor.constant and math.prod(tensor.shape) == 1 for tensor in node.inputs)
    fits = batch == other_batch or single
    fits &= size == other_size or [1, 1] in (size, other_size)
    fits &= channels == other_channels or 1 in (channels, other_channels)
    return None if fits else "one shape must fit the other"


def _core_ml_mean(node: GraphNode) -> str | None:
    (given, *_), (result,) = node.inputs, node.outputs
    if len(given.shape) != 4:
        return f"the input must have 4 axes, got {len(given.shape)}"
    is_over_size = result.shape[1:3] == (1, 1) and result.shape[3:] == given.shape[3:]
    return None if is_over_size else "it must be over rows and columns"


def _core_ml_concatenation(node: GraphNode) -> str | None:
    axes = len(node.inputs[0].shape)
    if axes not in (3, 4) or node.operation.options.get("axis") not in (-1, axes - 1):
        return "it must be along the last of 3 or 4 axes"
    return _no_activation(node)


# Core ML 3, which iOS 13 and later use; RESHAPE is taken only for Core ML 2.
_CORE_ML = {
    "ADD": Support(_FLOAT, 1, _core_ml_pair),
    "MUL": Support(_FLOAT, 1, _core_ml_pair),
    "FULLY_CONNECTED": Support(_FLOAT, 6, _core_ml_product),
    "CONCATENATION": Support(_FLOAT, 1, _core_ml_concatenation),
    "MEAN": Support(_FLOAT, 1, _core_ml_mean),
    "SOFTMAX": Support(_FLOAT, 1, _softmax_of_beta_1),
    **dict.fromkeys(("HARD_SWISH", "LOGISTIC", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"), Support(_FLOAT, 1)),
}


DELEGATES = (
    Delegate("NNAPI", "tflite/delegates/nnapi/nnapi_delegate.cc", _value_inputs, _NNAPI, reads_float16=False),
    Delegate("GPU", "tflite/tools/versioning/gpu_compatibility.cc", lambda node: node.runtime_inputs, _GPU),
    Delegate("Core ML", "tflite/delegates/coreml/coreml_delegate.mm", lambda node: node.inputs[:1], _CORE_ML),
)
