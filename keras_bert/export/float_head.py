"""Keeps the output layer of a regression in float32 in a float16 `.tflite` file.

A mean of 100,000 is infinite in float16, and one of 2,001 becomes 2,002.
"""

from typing import Any

import keras
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.rules.lite_graphs import builtin_number
from keras_bert.export.sharing import write_model
from keras_bert.layers.regression_head import folded_heads

_PRODUCT = schema.BuiltinOperator.FULLY_CONNECTED


def keep_head_float(content: bytes, model: keras.Model) -> bytes:
    """Replaces the weights of a regression head, if the model of a `.tflite` file has one, by its float32 weights.

    The scale of the targets is folded into the last product of the file.
    """
    folded = folded_heads(model)
    if not folded:
        return content
    kernel, bias = (
        next(values for path, values in folded.items() if path.endswith(name)) for name in ("/kernel", "/bias")
    )
    written = schema.ModelT.InitFromPackedBuf(content)
    head = (kernel.T, bias)
    buffers = [_append_buffer(written, values) for values in head]
    products = [number for number, code in enumerate(written.operatorCodes) if builtin_number(code) == _PRODUCT]
    for graph in written.subgraphs:
        last = next((operator for operator in graph.operators if set(operator.outputs) & set(graph.outputs)), None)
        if last is None or last.opcodeIndex not in products:
            raise RuntimeError("the graph of a regression must end in a product with weights")
        constants = [_append_tensor(graph, values, place) for values, place in zip(head, buffers, strict=True)]
        last.inputs = np.array([last.inputs[0], *constants], np.int32)
        read = {int(number) for operator in graph.operators for number in operator.inputs}
        graph.operators = [
            operator for operator in graph.operators if set(operator.outputs) & (read | set(graph.outputs))
        ]
    return write_model(written)


def _append_buffer(model: Any, values: Any) -> int:
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(np.ascontiguousarray(values, "float32").tobytes(), np.uint8)
    model.buffers.append(buffer)
    return len(model.buffers) - 1


def _append_tensor(graph: Any, values: Any, buffer: int) -> int:
    """Appends a float32 constant to a graph; returns its index."""
    tensor = schema.TensorT()
    tensor.name, tensor.shape = f"regression_head_{len(graph.tensors)}".encode(), np.array(values.shape, np.int32)
    tensor.type, tensor.buffer = schema.TensorType.FLOAT32, buffer
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1
