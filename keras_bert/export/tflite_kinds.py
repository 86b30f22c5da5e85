"""Detects the runtime for which a `.tflite` file was exported."""

import mmap
import os
from typing import Any

from keras_bert.export.runtimes import TEXT_SIGNATURES

# The name of MediaPipe's metadata, which describes the model's tensors.
METADATA_NAME = "TFLITE_METADATA"


def takes_text(path: str | os.PathLike[str]) -> bool:
    """True if the tokenizer is part of a file's graph, see `export_text`."""
    return _names(path, "SignatureDefs", "SignatureKey") & TEXT_SIGNATURES.keys() != set()


def is_for_mediapipe(path: str | os.PathLike[str]) -> bool:
    """True if a file has MediaPipe's metadata, see `export_mediapipe`."""
    return METADATA_NAME in _names(path, "Metadata", "Name")


def _names(path: str | os.PathLike[str], entries: str, name: str) -> set[str]:
    """Reads the names of some of a model's entries; the rest of the file is not read."""
    from ai_edge_litert import schema_py_generated as schema

    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        model: Any = schema.Model.GetRootAs(content, 0)
        count = getattr(model, f"{entries}Length")()
        names = {getattr(getattr(model, entries)(number), name)().decode() for number in range(count)}
        del model  # a view of the mapped file, which cannot be closed before
        return names
