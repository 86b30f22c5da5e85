"""Reads the folders of sentence-transformers' `SparseEncoder`: SPLADE, with or without a model for queries."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.interop.configs import CONFIG_FILE, check_only, read_json, read_length
from keras_bert.interop.hub import find_checkpoint
from keras_bert.interop.hugging_face import from_hugging_face
from keras_bert.interop.safetensors_files import FILE, open_file
from keras_bert.interop.sentence_transformers import (
    LENGTH_FILE,
    MODULES_FILE,
    SETTINGS_FILE,
    read_length_file,
    read_prompts,
    read_settings,
)
from plugins.sparse.task import Sparse

_ROUTER_FILE = "router_config.json"
# The module of the model has lost its own name in version 6 of sentence-transformers.
_MODELS = (["MLMTransformer", "SpladePooling"], ["Transformer", "SpladePooling"])
_WEIGHTS = ["SparseStaticEmbedding"]


def read_sparse(folder: str, **settings: Any) -> Sparse:
    """Reads a folder of sentence-transformers' `SparseEncoder`, or one on the Hugging Face hub.

    Its modules are an MLMTransformer with a SpladePooling (max, relu), or a Router of them for documents, with a
    SparseStaticEmbedding for queries or the same model for both. Vectors equal those of the library.

    Args:
        folder: the folder, or an address, see `keras_bert.from_hugging_face`.
        settings: arguments of `Sparse` that replace those of the files, such as `max_length`.

    Raises:
        ValueError: the folder holds other modules, or a file is damaged.
        FileNotFoundError: a file is missing.
    """
    root = find_checkpoint(folder)
    routes = _read_routes(root)
    (transformer, pooling), query = routes["document"], routes["query"]
    content = read_json(pooling / CONFIG_FILE)
    check_only(pooling / CONFIG_FILE, content, {"pooling_strategy": "max", "activation_function": "relu"})
    check_only(root / SETTINGS_FILE, read_settings(root), {"similarity_fn_name": "dot"})
    of_files: dict[str, Any] = {"prompts": vars(read_prompts(root))}
    if query != routes["document"]:
        of_files["query_weights"] = _read_weights(query[0])
    if (length := read_length(transformer / LENGTH_FILE, read_length_file(transformer), "max_seq_length")) is not None:
        of_files["max_length"] = length
    task = from_hugging_face(transformer, task=Sparse.name, **{**of_files, **settings})
    assert isinstance(task, Sparse)
    return task


def _read_routes(root: Path) -> dict[str, Sequence[Path]]:
    """The folders of the modules of documents and of queries."""
    modules = [(str(module.get("type")), str(module.get("path"))) for module in read_json(root / MODULES_FILE, list)]
    kinds = {"document": modules, "query": modules}
    if [kind.rpartition(".")[2] for kind, _ in modules] == ["Router"]:
        content = read_json(root / modules[0][1] / _ROUTER_FILE)
        kinds = {
            route: [(str(content["types"][path]), f"{modules[0][1]}/{path}".lstrip("/")) for path in paths]
            for route, paths in content["structure"].items()
        }
    names = {route: [kind.rpartition(".")[2] for kind, _ in kinds[route]] for route in kinds}
    is_known = names.keys() == {"document", "query"} and names["document"] in _MODELS
    if not is_known or (names["query"] != _WEIGHTS and kinds["query"] != kinds["document"]):
        raise ValueError(
            f"{root / MODULES_FILE} must list an MLMTransformer and a SpladePooling, or a Router of them for documents "
            f"and a SparseStaticEmbedding for queries, got {names}"
        )
    return {route: [root / path for _, path in modules] for route, modules in kinds.items()}


def _read_weights(folder: Path) -> np.ndarray[Any, Any]:
    """The weight of each token (vocabulary,), see `Sparse.query_weights`."""
    tensors = open_file(folder / FILE)
    if set(tensors) != {"weight"}:
        raise ValueError(f"{folder / FILE} must hold one tensor, weight, got {sorted(tensors)}")
    return np.asarray(tensors["weight"])
