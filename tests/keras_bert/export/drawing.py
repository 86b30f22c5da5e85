"""Graphs of ONNX that are put together by hand, and what they say before and after a change."""

import collections

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

WIDTH = 8


class Drawing:
    """A graph, node by node."""

    def __init__(self, kind=TensorProto.FLOAT, shape=("rows", WIDTH)):
        self.graph = helper.make_graph([], "drawing", [helper.make_tensor_value_info("given", kind, shape)], [])

    def constant(self, name, values):
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, kind, *given, **attributes):
        name = f"{kind}_{len(self.graph.node)}"
        self.graph.node.append(helper.make_node(kind, given, [name], **attributes))
        return name

    def answers(self, change, outputs, given):
        """What the graph says as it is, and changed; and its operations then."""
        self.graph.output.extend(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, (None, None)) for name in outputs
        )
        model = helper.make_model(self.graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        changed = change(model)
        kinds = collections.Counter(node.op_type for node in changed.graph.node)
        return self._run(model, given), self._run(changed, given), kinds

    @staticmethod
    def _run(model, given):
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, {"given": given})
