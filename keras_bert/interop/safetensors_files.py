"""Reads the weights of a folder, whole or in shards, and writes `model.safetensors`; no PyTorch is needed."""

import functools
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from keras_bert.core.folders import WEIGHT_FILES, hint_of_weights
from keras_bert.interop.configs import read_json
from keras_bert.interop.pytorch_files import open_pickled
from keras_bert.interop.weights import Array, Tensors, damaged_file

FILE, INDEX_FILE = WEIGHT_FILES[:2]
# The first letters of types of float8, float6 and float4, which NumPy has not.
_WITH_SCALES = ("F8_", "F6_", "F4")


def open_tensors(folder: Path) -> Tensors:
    """The tensors of a folder by name, each read from its file on access; of safetensors where it has them."""
    name = next((name for name in WEIGHT_FILES if (folder / name).is_file()), None)
    if name is None:
        raise FileNotFoundError(
            f"{folder} has no weights: neither {' nor '.join(WEIGHT_FILES)}{hint_of_weights(folder)}"
        )
    return _open_shards(folder, name) if name.endswith(".json") else open_file(folder / name)


def save_tensors(tensors: dict[str, Array], path: Path) -> None:
    """Writes a safetensors file that transformers takes for one of PyTorch's."""
    save_file(tensors, path, metadata={"format": "pt"})


def open_file(path: Path) -> Tensors:
    """The tensors of one file, which is a pickle where its name ends with `.bin`."""
    if path.suffix == ".bin":
        return open_pickled(path)
    try:
        handle: Any = safe_open(path, framework="np")
    except SafetensorError as error:
        raise damaged_file(path, "safetensors file", error) from error
    return Tensors({name: functools.partial(_read_tensor, handle, path, name) for name in handle.keys()})  # noqa: SIM118


def _read_tensor(handle: Any, path: Path, name: str) -> Array:
    kind: str = handle.get_slice(name).get_dtype()
    if kind.startswith(_WITH_SCALES):
        rule = "hold float32, float16 or bfloat16: weights in fewer bits have scales in other tensors"
        raise ValueError(f"{path}: tensor {name!r} must {rule}, got {kind}; download or write the whole weights")
    return handle.get_tensor(name)


def _open_shards(folder: Path, index: str) -> Tensors:
    places = read_json(folder / index).get("weight_map")
    if not isinstance(places, dict) or not all(Path(str(shard)).name == shard for shard in places.values()):
        raise ValueError(f"{folder / index} must hold a weight_map from tensors to files in the same folder")
    shards = {}
    for shard in sorted(set(places.values())):
        if not (folder / shard).is_file():
            raise FileNotFoundError(f"{folder} lacks the shard {shard!r} that {index} names")
        shards[shard] = open_file(folder / shard)
    for name, shard in places.items():
        if name not in shards[shard]:
            raise ValueError(f"{folder / shard} lacks the tensor {name!r} that {index} looks for in it")
    return Tensors({name: functools.partial(shards[shard].__getitem__, name) for name, shard in places.items()})
