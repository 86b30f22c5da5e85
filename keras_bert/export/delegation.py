"""How much of a `.tflite` file LiteRT hands to its delegate for processors, XNNPACK."""

import os
from typing import Any, NamedTuple

import numpy as np

# What LiteRT calls a node that stands for those that a delegate took.
_DELEGATE = "DELEGATE"


class Delegation(NamedTuple):
    """What of a graph runs where.

    Attributes:
        nodes: of the graph.
        taken: those of them that the delegate runs.
        parts: pieces of the graph that it runs in one go each; between them numbers go from one to the other.
    """

    nodes: int
    taken: int
    parts: int


def count_delegated(path: str | os.PathLike[str]) -> Delegation:
    """Counts the nodes of the first signature; the others hold the same operations.

    LiteRT tells it in a log that Python cannot switch on. Its nodes tell it, too: with fusion there is a node of the
    delegate for each part, without for each node that it took.

    Args:
        path: a `.tflite` file with signatures, which must be one.
    """
    (nodes, parts), (_, taken) = (_count_nodes(path, fused=fused) for fused in (True, False))
    return Delegation(nodes, taken, parts)


def _count_nodes(path: str | os.PathLike[str], *, fused: bool) -> tuple[int, int]:
    """Those of the graph, and those of the delegate that stand beside them once it has been asked."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter: Any = Interpreter(model_path=os.fspath(path), experimental_disable_delegate_node_fusion=not fused)
    runner = interpreter.get_signature_runner(next(iter(interpreter.get_signature_list())))
    before = len(interpreter._get_ops_details())
    # The delegate takes its share when a signature is asked for the first time.
    runner(**{name: np.ones(given["shape"], given["dtype"]) for name, given in runner.get_input_details().items()})
    after = interpreter._get_ops_details()
    return before, sum(node["op_name"] == _DELEGATE for node in after)
