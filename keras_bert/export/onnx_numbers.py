"""A float32 graph of ONNX in coarser numbers, by ONNX Runtime's own converters."""

import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from keras_bert.export.onnx import make_canonical

if TYPE_CHECKING:
    import onnx

# Of squares of states, as normalizations take them: float16 ends at 65504, the square of 256.
_MEANS = ("ReduceMean", "ReduceSum", "Pow", "Sqrt", "Reciprocal")

# ONNX' numbers of int32 and int64.
_INTEGERS = (6, 7)


def to_float16(graph: "onnx.ModelProto") -> "onnx.ModelProto":
    """The same with weights and most sums in float16; inputs and outputs stay as they are."""
    import onnx
    from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16

    copy = onnx.ModelProto()
    copy.CopyFrom(graph)
    with warnings.catch_warnings():
        # That numbers become the nearest that float16 has is what was asked for.
        warnings.simplefilter("ignore")
        half: onnx.ModelProto = convert_float_to_float16(
            copy,
            keep_io_types=True,
            op_block_list=[*DEFAULT_OP_BLOCK_LIST, *_MEANS],
            node_block_list=[*_find_squares(graph.graph), *_find_counts(graph.graph)],
        )
    _join_casts(half.graph)
    # The casts stand at the end.
    make_canonical(half.graph)
    onnx.checker.check_model(half)
    return half


def _find_squares(graph: "onnx.GraphProto") -> list[str]:
    """Names of the nodes that make squares, or what a root is taken of."""
    under_roots = {name for node in graph.node if node.op_type == "Sqrt" for name in node.input}
    return [
        node.name
        for node in graph.node
        if (node.op_type == "Mul" and len(set(node.input)) == 1) or under_roots.intersection(node.output)
    ]


def _find_counts(graph: "onnx.GraphProto") -> list[str]:
    """Names of the nodes of whose results integers are made, as places and lengths: float16 counts to 2048."""
    makers = {name: node for node in graph.node for name in node.output}
    pending = [node for node in graph.node if node.op_type == "Cast" and node.attribute[0].i in _INTEGERS]
    found: dict[str, None] = {}
    while pending:
        node = pending.pop()
        # A shape is the same in any numbers.
        if node.name not in found and node.op_type != "Shape":
            found[node.name] = None
            pending += [makers[name] for name in node.input if name in makers]
    return list(found)


def _join_casts(graph: "onnx.GraphProto") -> None:
    """Leaves out float16 between two nodes that compute in float32, as the converter puts it there."""
    made = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    for node in graph.node:
        for place, name in enumerate(node.input):
            back = made.get(name)
            there = made.get(back.input[0]) if back is not None and back.name.endswith("_cast_to_fp32_node") else None
            if there is not None and there.name.endswith("_cast_to_fp16_node"):
                node.input[place] = there.input[0]


def to_int8(graph: "onnx.ModelProto") -> "onnx.ModelProto":
    """The same with int8 weights, a scale a unit; what products read is rounded when it is known.

    Seven bits of weights, as transformers.js' own converter: sums of pairs of eight bits overflow on processors
    without VNNI.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder, _quiet():
        path = Path(folder) / "model.onnx"
        quantize_dynamic(graph, path, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
        rounded: onnx.ModelProto = onnx.load_model(path)
    onnx.checker.check_model(rounded)
    return rounded


@contextmanager
def _quiet() -> Iterator[None]:
    """The quantizer advises to prepare the graph for it, which changes nothing here."""
    logger, before = logging.getLogger(), logging.getLogger().level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
