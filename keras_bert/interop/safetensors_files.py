"""Reading and writing `model.safetensors`, whole or in shards; no PyTorch is needed."""

import functools
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from keras_bert.interop.configs import read_json
from keras_bert.interop.weights import Array, Tensors

FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
PICKLE_FILE = "pytorch_model.bin"
# The first letters of types of float8, float6 and float4, which NumPy has not.
_WITH_SCALES = ("F8", "F6", "F4")


def open_tensors(folder: Path) -> Tensors:
    """The tensors of a folder by name, each read from its file on access.

    Raises:
        FileNotFoundError: there are no safetensors, or a shard is missing.
        ValueError: a file is not a safetensors file, is cut short, or lacks a tensor of the index.
    """
    if (folder / FILE).is_file():
        return open_file(folder / FILE)
    if (folder / INDEX_FILE).is_file():
        return _open_shards(folder)
    if list(folder.glob("pytorch_model*.bin")):
        raise FileNotFoundError(
            f"{folder} has no {FILE}, only a {PICKLE_FILE}, which is not read: unpickling it runs whatever code it "
            "holds. Download the repository's safetensors, or, if you trust the file, convert it where PyTorch is "
            "installed: transformers' AutoModel.from_pretrained(folder).save_pretrained(other) writes them"
        )
    raise FileNotFoundError(f"{folder} has no {FILE} and no {INDEX_FILE}")


def save_tensors(tensors: dict[str, Array], path: Path) -> None:
    """Writes a safetensors file that transformers takes for one of PyTorch's."""
    save_file(tensors, path, metadata={"format": "pt"})


def open_file(path: Path) -> Tensors:
    """The tensors of one file."""
    try:
        handle: Any = safe_open(path, framework="np")
    except SafetensorError as error:
        with path.open("rb") as file:
            pointer = file.read(7) == b"version"
        cause = "it is a Git LFS pointer: run `git lfs pull`" if pointer else "the download was likely cut short"
        size = path.stat().st_size
        raise ValueError(f"{path} is not a whole safetensors file ({size} bytes): {error}; {cause}") from error
    return Tensors({name: functools.partial(_read_tensor, handle, path, name) for name in handle.keys()})  # noqa: SIM118


def _read_tensor(handle: Any, path: Path, name: str) -> Array:
    kind: str = handle.get_slice(name).get_dtype()
    if kind.startswith(_WITH_SCALES):
        rule = "hold float32, float16 or bfloat16: weights in fewer bits have scales in other tensors"
        raise ValueError(f"{path}: tensor {name!r} must {rule}, got {kind}; download or write the whole weights")
    return handle.get_tensor(name)


def _open_shards(folder: Path) -> Tensors:
    places = read_json(folder / INDEX_FILE).get("weight_map")
    if not isinstance(places, dict) or not all(Path(str(shard)).name == shard for shard in places.values()):
        raise ValueError(f"{folder / INDEX_FILE} must hold a weight_map from tensors to files in the same folder")
    shards = {}
    for shard in sorted(set(places.values())):
        if not (folder / shard).is_file():
            raise FileNotFoundError(f"{folder} lacks the shard {shard!r} that {INDEX_FILE} names")
        shards[shard] = open_file(folder / shard)
    for name, shard in places.items():
        if name not in shards[shard]:
            raise ValueError(f"{folder / shard} lacks the tensor {name!r} that {INDEX_FILE} looks for in it")
    return Tensors({name: functools.partial(shards[shard].__getitem__, name) for name, shard in places.items()})
