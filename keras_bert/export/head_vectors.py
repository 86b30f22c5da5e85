"""The vectors that the head of an exported model reads: the file with them as its outputs."""

from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.core.folders import temporary_folder
from keras_bert.export.rules.lite_graphs import builtin_number
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.sharing import read_model, write_model


def open_head_vectors(file: Path) -> TFLiteModel | None:
    """A `.tflite` file whose outputs are the operands of their last products with weights.

    They are (batch, width), or (batch, length, width) for a head of tokens, in any scale. None if an output is no such
    product, as the vector of an embedding.
    """
    model = read_model(file.read_bytes())
    for signature in model.signatureDefs:
        graph = model.subgraphs[signature.subgraphIndex]
        makers = {int(operation.outputs[0]): operation for operation in graph.operators}
        for output in signature.outputs:
            vector = _find_operand(model, graph, makers, int(output.tensorIndex))
            if vector is None:
                return None
            graph.outputs = np.where(np.asarray(graph.outputs) == output.tensorIndex, vector, graph.outputs)
            output.tensorIndex = vector
    with temporary_folder() as folder:
        (Path(folder) / file.name).write_bytes(write_model(model))
        return TFLiteModel(Path(folder) / file.name)


def _find_operand(model: Any, graph: Any, makers: dict[int, Any], tensor: int) -> int | None:
    """The operand of the last product before a tensor, with a batch axis of size 1."""
    is_found = False
    while tensor in makers and not (is_found and graph.tensors[tensor].shape[0] == 1):
        maker = makers[tensor]
        is_found |= builtin_number(model.operatorCodes[maker.opcodeIndex]) == schema.BuiltinOperator.FULLY_CONNECTED
        tensor = int(maker.inputs[0])
    return tensor if is_found and tensor in makers else None
