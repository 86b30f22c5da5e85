"""Negatives and squares of a `.tflite` file as products, for which there are integers, as there are for neither."""

from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.sharing import write_model

_MINUS_ONE = np.array([-1.0], np.float32)


def make_products(content: bytes) -> bytes:
    """The same model with `MUL` in the places of `NEG` and `SQUARE`.

    Args:
        content: of a float `.tflite` file, all of whose data stands inside the model.
    """
    model = schema.ModelT.InitFromPackedBuf(content)
    codes = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in model.operatorCodes]
    if not {schema.BuiltinOperator.NEG, schema.BuiltinOperator.SQUARE} & set(codes):
        return content
    product = schema.OperatorCodeT()
    product.builtinCode = product.deprecatedBuiltinCode = schema.BuiltinOperator.MUL
    model.operatorCodes.append(product)
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(_MINUS_ONE.tobytes(), np.uint8)
    model.buffers.append(buffer)
    for number, graph in enumerate(model.subgraphs):
        negatives = [each for each in graph.operators if codes[each.opcodeIndex] == schema.BuiltinOperator.NEG]
        squares = [each for each in graph.operators if codes[each.opcodeIndex] == schema.BuiltinOperator.SQUARE]
        if negatives:
            graph.tensors.append(_constant(f"minus_one_{number}", len(model.buffers) - 1))
        for operation in negatives:
            _multiply(operation, len(codes), len(graph.tensors) - 1)
        for operation in squares:
            _multiply(operation, len(codes), operation.inputs[0])
    return write_model(model)


def _constant(name: str, buffer: int) -> Any:
    tensor = schema.TensorT()
    tensor.name, tensor.buffer, tensor.type = name, buffer, schema.TensorType.FLOAT32
    tensor.shape = np.array(_MINUS_ONE.shape, np.int32)
    return tensor


def _multiply(operation: Any, code: int, factor: int) -> None:
    operation.opcodeIndex = code
    operation.inputs = np.array([operation.inputs[0], factor], np.int32)
    operation.builtinOptionsType = schema.BuiltinOptions.MulOptions
    operation.builtinOptions = schema.MulOptionsT()
