"""Puts the signatures of several `.tflite` files into one, with equal buffers once."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_bert.export.runtimes import LENGTH
from keras_bert.export.sharing import read_model, write_model


def merge_files(contents: Mapping[str, bytes]) -> bytes:
    """Merges files whose signatures are `serve_32` and the like.

    Args:
        contents: the file of each name. The signatures of a name are called `NAME_32` and the like.

    Each file is converted by itself: a conversion of all networks at once holds all weights once a network, several
    times over.
    """
    merged: Any = None
    places: dict[bytes, int] = {}
    for name, content in contents.items():
        model = read_model(content)
        for signature in model.signatureDefs:
            match = LENGTH.fullmatch(signature.signatureKey.decode())
            assert match is not None, signature.signatureKey
            signature.signatureKey = f"{name}_{match[1]}".encode()
        if merged is None:
            merged = model
            places = {_bytes(buffer): place for place, buffer in reversed([*enumerate(model.buffers)])}
            places[b""] = 0
            continue
        _append(merged, model, places)
    return write_model(merged)


def _append(merged: Any, model: Any, places: dict[bytes, int]) -> None:
    """Appends the graphs of a model; `places` has the buffers of `merged` by their content."""
    codes = {_code(code): place for place, code in reversed([*enumerate(merged.operatorCodes)])}
    for code in model.operatorCodes:
        if _code(code) not in codes:
            codes[_code(code)] = len(merged.operatorCodes)
            merged.operatorCodes.append(code)
    offset = len(merged.subgraphs)
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            buffer = model.buffers[tensor.buffer]
            content = _bytes(buffer)
            if content not in places:
                places[content] = len(merged.buffers)
                merged.buffers.append(buffer)
            tensor.buffer = places[content]
        for operation in graph.operators:
            operation.opcodeIndex = codes[_code(model.operatorCodes[operation.opcodeIndex])]
        merged.subgraphs.append(graph)
    for signature in model.signatureDefs:
        signature.subgraphIndex += offset
        merged.signatureDefs.append(signature)


def _bytes(buffer: Any) -> bytes:
    return b"" if buffer.data is None else np.asarray(buffer.data, np.uint8).tobytes()


def _code(code: Any) -> tuple[Any, ...]:
    return code.builtinCode, code.deprecatedBuiltinCode, code.customCode, code.version
