"""Counts the operations of a `.tflite` file that LiteRT delegates to XNNPACK, with reasons for the others."""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_bert.export.runtimes import Array, open_session

# The suffix of a profile event with the time that a node's kernel takes.
_KERNEL = "_kernel_time"


# LiteRT's name for a node that replaces the nodes which a delegate runs.
_DELEGATE = "DELEGATE"
# The types that XNNPACK computes with; shapes and indices are int32 in LiteRT's schema.
_NUMBERS = ("float16", "float32", "int8", "uint8")
# The limit of XNNPACK's integer sums: a term's scale must be at least 2^-10 of the result's scale.
_SUMS = ("ADD", "SUB")
_FINEST = 2.0**-10


class Delegation(NamedTuple):
    """The nodes of a graph that XNNPACK runs, in connected `parts`, and the others by operation and probable reason."""

    nodes: int
    taken: int
    parts: int
    left: dict[str, int]


def count_delegated(path: str | os.PathLike[str]) -> Delegation:
    """Counts the delegated nodes of a `.tflite` file's first signature; all signatures have the same operations.

    LiteRT writes the counts to a log that Python cannot turn on. They also follow from the nodes: with fusion there is
    one delegate node for each partition; without fusion there is one for each delegated node, with the same outputs.
    """
    _, parts, _ = _nodes_of(path, fused=True)
    nodes, taken, steps = _nodes_of(path, fused=False)
    made = {int(output) for node in taken for output in node["outputs"]}
    kept = [node for node in nodes if not made.intersection(map(int, node["outputs"]))]
    ran = [node for node in nodes if made.intersection(map(int, node["outputs"]))]
    left = Counter(f"{node['op_name']} {_type_of(node)}: {_reason(node, ran, steps)}" for node in kept)
    return Delegation(len(nodes), len(taken), len(parts), dict(left))


def _nodes_of(path: str | os.PathLike[str], *, fused: bool) -> tuple[Sequence[Any], Sequence[Any], dict[int, float]]:
    """Reads the graph's nodes, the delegate's nodes, which LiteRT adds at the first run, and the tensors' scales."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter: Any = Interpreter(model_path=os.fspath(path), experimental_disable_delegate_node_fusion=not fused)
    runner = interpreter.get_signature_runner(next(iter(interpreter.get_signature_list())))
    nodes = interpreter._get_ops_details()
    # LiteRT delegates nodes when a signature first runs.
    runner(**{name: np.ones(given["shape"], given["dtype"]) for name, given in runner.get_input_details().items()})
    beside = interpreter._get_ops_details()[len(nodes) :]
    steps = {tensor["index"]: float(tensor["quantization"][0]) for tensor in interpreter.get_tensor_details()}
    return nodes, [node for node in beside if node["op_name"] == _DELEGATE], steps


def _type_of(node: Mapping[str, Any]) -> str:
    """Returns the type of the first operand, with which the node computes."""
    return np.dtype([*node["operand_types"], *node["result_types"]][0]).name


def _reason(node: Mapping[str, Any], ran: Sequence[Mapping[str, Any]], steps: Mapping[int, float]) -> str:
    numbers = _type_of(node)
    if numbers not in _NUMBERS:
        return f"it does not compute with {numbers}"
    finest = min(steps.get(int(given), 0.0) for given in node["inputs"])
    result = steps.get(int(node["outputs"][0]), 0.0)
    if node["op_name"] in _SUMS and 0 < finest < result * _FINEST:
        return "it adds no terms whose steps are below 1/1024 of the result's"
    others = sorted({_type_of(run) for run in ran if run["op_name"] == node["op_name"]})
    if numbers in others:
        return "it runs others, of other shapes or constants"
    if others:
        return f"it runs those of {' and '.join(others)}"
    return "it runs none of these"


class ProfiledOperation(NamedTuple):
    """The nodes of one kind in a profile, as ONNX Runtime runs them: it may fuse several operations of the file.

    The milliseconds are the mean time per inference, of all these nodes together.
    """

    name: str
    nodes: int
    milliseconds: float


def profile_onnx(path: str | os.PathLike[str], row: Mapping[str, Array], answers: int) -> list[ProfiledOperation]:
    """Profiles an `.onnx` file on one thread and a row (1, length); returns its kinds of operations, the slowest first.

    The times are means of `answers` inferences, after as many for warm-up, and include the overhead of the profiler.
    """
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(path, profile=os.fspath(Path(folder) / "profile"))
        inputs = {given.name: np.asarray(row[given.name], np.int32) for given in session.get_inputs()}
        for _ in range(2 * answers):
            session.run(None, inputs)
        events = json.loads(Path(session.end_profiling()).read_text())
    kernels = [event for event in events if event.get("cat") == "Node" and event["name"].endswith(_KERNEL)]
    # Each answer runs the same nodes: the second half of the events belongs to the second half of the answers.
    counted = kernels[len(kernels) // 2 :]
    spent: Counter[str] = Counter()
    places: dict[str, set[str]] = {}
    for event in counted:
        kind = event["args"]["op_name"]
        spent[kind] += event["dur"]
        places.setdefault(kind, set()).add(event["name"])
    return [ProfiledOperation(kind, len(places[kind]), total / 1000 / answers) for kind, total in spent.most_common()]
