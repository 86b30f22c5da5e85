"""Deduplicates equal vectors in `.tflite` files, such as the quantization scales of each signature."""

from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

_IDENTIFIER = b"TFL3"
# The alignment that LiteRT's schema requires for the data of a buffer, so that runtimes may map it; the schema's Python
# code does not set it.
_ALIGNMENT = 16


def read_model(content: bytes) -> schema.ModelT:
    """Reads a `.tflite` file with all data inside the model.

    Some writers put the data of buffers after the model, where offsets would change when the model is rewritten.
    """
    model = schema.ModelT.InitFromPackedBuf(content)
    for buffer in model.buffers:
        if buffer.offset > 1:
            buffer.data = np.frombuffer(content, np.uint8, buffer.size, buffer.offset)
            buffer.offset = buffer.size = 0
    return model


def write_model(model: schema.ModelT) -> bytes:
    """Serializes a model as a `.tflite` file, with equal vectors of numbers written once.

    Each unit of each kernel and bias has a scale and a zero point of eight bytes, repeated in every signature: half a
    megabyte in a file of 7 MB with two signatures.
    """
    builder = _SharingBuilder(1 << 20)
    builder.Finish(model.Pack(builder), file_identifier=_IDENTIFIER)
    return bytes(builder.Output())


class _SharingBuilder(flatbuffers.Builder):
    """A builder that writes equal vectors of numbers once; all tables refer to the same offset."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._places: dict[tuple[str, bytes], int] = {}

    def CreateNumpyVector(self, x: Any) -> int:  # noqa: N802, the name is flatbuffers'
        key = x.dtype.str, x.tobytes()
        if key not in self._places:
            self._places[key] = super().CreateNumpyVector(x)
        return self._places[key]

    def StartVector(self, elemSize: int, numElems: int, alignment: int) -> int:  # noqa: N802, N803
        place: int = super().StartVector(elemSize, numElems, _ALIGNMENT if elemSize == 1 else alignment)
        return place
