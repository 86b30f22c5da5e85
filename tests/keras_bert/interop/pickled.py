"""Files of PyTorch made without it, for tests; those of tests/golden/pytorch are its own."""

import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_STORAGES = {"float32": "FloatStorage", "float16": "HalfStorage", "int64": "LongStorage"}


def write_pickle(tensors: Mapping[str, np.ndarray[Any, Any]], path: Path) -> None:
    """Writes tensors as `torch.save` does, each with its own storage."""
    write_archive(path, pickle_of(tensors), {str(n): array.tobytes() for n, array in enumerate(tensors.values())})


def write_archive(path: Path, content: bytes, storages: Mapping[str, bytes], compression: int = 0) -> None:
    """The zip file around a pickle."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        members = {"data.pkl": content, "byteorder": b"little"} | {f"data/{key}": storages[key] for key in storages}
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(f"archive/{name}"), member, compression)


def pickle_of(tensors: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """The pickle of a state dict."""
    parts = [b"\x80\x02}"]
    for number, (name, array) in enumerate(tensors.items()):
        strides = [stride // array.itemsize for stride in array.strides]
        parts += [text(name), tensor(str(number), _STORAGES[array.dtype.name], array.size, 0, array.shape, strides)]
        parts.append(b"s")
    return b"".join([*parts, b"."])


def tensor(key: str, storage: str, count: int, offset: int, shape: Any, strides: Any) -> bytes:
    """The instructions that leave a tensor on the stack."""
    reference = b"(" + text("storage") + name("torch", storage) + text(key) + text("cpu") + whole(count) + b"tQ"
    places = whole(offset) + b"(" + b"".join(map(whole, shape)) + b"t(" + b"".join(map(whole, strides)) + b"t"
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + reference + places + b"\x89NtR"


def name(module: str, function: str) -> bytes:
    """The instruction that imports a name."""
    return f"c{module}\n{function}\n".encode()


def text(value: str) -> bytes:
    """The instruction for a string."""
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def whole(value: int) -> bytes:
    """The instruction for a number."""
    return b"J" + struct.pack("<i", value)
